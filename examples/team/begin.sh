#!/bin/sh
# Makes the repository that the example is tried on: begin.sh FOLDER
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ $# -ne 1 ] || [ -e "$1" ]; then
	echo "usage: $0 FOLDER, which must not be there yet" >&2
	exit 2
fi
mkdir -p "$1"
cd "$1"
cp "$here/gaffer.yaml" "$here/play.txt" "$here/requirements.md" "$here/test.sh" .
printf '%s\n' coordination/ state/ .founder-mode/ >.gitignore
git init -q -b main
git config user.name Newcomer
git config user.email newcomer@example.com
git add .
git commit -qm 'An empty toolbox'
