#!/bin/sh
# Installs gaffer from a release, or removes it. It asks nothing.
#
#   sh install.sh [--from PLACE] [--prefix FOLDER]
#   sh install.sh --uninstall [--prefix FOLDER]
#
# PLACE is the folder or the address with the archives and checksums.txt of a release.
# FOLDER is ~/.local unless it is given; the program is then FOLDER/bin/gaffer. A second
# install is an upgrade. FOLDER/share/gaffer/installed lists what was installed, and
# --uninstall removes exactly that.
set -eu
umask 022

# script/release writes the address of the release here.
release=''

main() {
	from=${GAFFER_RELEASE:-$release} prefix='' uninstall=''
	while [ $# -gt 0 ]; do
		case $1 in
		--from | --prefix)
			[ $# -ge 2 ] || usage "$1 needs a value"
			if [ "$1" = --from ]; then from=$2; else prefix=$2; fi
			shift
			;;
		--from=*) from=${1#*=} ;;
		--prefix=*) prefix=${1#*=} ;;
		--uninstall) uninstall=yes ;;
		-h | --help)
			sed -n '2,10s/^# \{0,1\}//p' "$0"
			exit 0
			;;
		*) usage "unknown argument $1" ;;
		esac
		shift
	done
	if [ -z "$prefix" ]; then
		[ -n "${HOME:-}" ] || fail "HOME is not set, so there is no default folder. Pass --prefix FOLDER."
		prefix=$HOME/.local
	fi
	case $prefix in
	/*) ;;
	*) prefix=$PWD/$prefix ;;
	esac
	list=$prefix/share/gaffer/installed
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	trap 'exit 130' INT TERM HUP
	if [ -n "$uninstall" ]; then remove_all; else install; fi
}

install() {
	find_platform
	fetch checksums.txt
	# A line of checksums.txt is the SHA-256, two spaces, and the name of a file.
	archive=$(awk -v end="_$platform.tar.gz" '$2 ~ /^gaffer_/ && substr($2, length($2) - length(end) + 1) == end { print $2 }' "$work/checksums.txt")
	case $archive in
	'') fail "$from has no archive for $platform. Build one from source: docs/install.md in gaffer's repository says how." ;;
	*[!A-Za-z0-9._+-]*) fail "checksums.txt in $from lists several archives for $platform, or one with a strange name: $archive. Pass --from with the folder of one release." ;;
	esac
	fetch "$archive"
	verify
	mkdir "$work/tree"
	tar -xzf "$work/$archive" -C "$work/tree"
	tree=$work/tree/${archive%.tar.gz}
	[ -f "$tree/bin/gaffer" ] || fail "$archive has no bin/gaffer, so it is no release of gaffer. Pass --from with the folder of a release."
	(cd "$tree" && find bin share -type f | LC_ALL=C sort) >"$work/files"
	(cd "$tree" && find . -type d | sed 's|^\./||' | LC_ALL=C sort) >"$work/folders" # the first one is ".", the prefix itself
	copy_all
	version=$("$prefix/bin/gaffer" version) || fail "$prefix/bin/gaffer was installed but does not run here. Remove it with: sh install.sh --uninstall --prefix $prefix"
	say "installed $prefix/bin/gaffer: $version"
	case :${PATH:-}: in
	*:"$prefix/bin":*) say "try it: gaffer run $prefix/share/gaffer/examples/quickstart/plan.yaml" ;;
	*) say "$prefix/bin is not in PATH. Add it in your shell's settings: export PATH=\"$prefix/bin:\$PATH\"" ;;
	esac
}

find_platform() {
	case $(uname -s) in
	Linux) os=linux ;;
	Darwin) os=darwin ;;
	*) fail "there is no release for $(uname -s), only for Linux and macOS." ;;
	esac
	case $(uname -m) in
	x86_64 | amd64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	*) fail "there is no release for the processor $(uname -m), only for amd64 and arm64. Build one from source: docs/install.md in gaffer's repository says how." ;;
	esac
	platform=${os}_$arch
}

# fetch copies a file of the release to $work.
fetch() {
	case $from in
	'') fail "no release is named. Pass --from with the folder or the address of a release, which has checksums.txt, or set GAFFER_RELEASE." ;;
	http://* | https://*)
		if command -v curl >/dev/null; then
			curl -fsSL -o "$work/$1" "${from%/}/$1" || fail "cannot download ${from%/}/$1. Check the address and the network, or download the release and pass its folder with --from."
		elif command -v wget >/dev/null; then
			wget -q -O "$work/$1" "${from%/}/$1" || fail "cannot download ${from%/}/$1. Check the address and the network, or download the release and pass its folder with --from."
		else
			fail "neither curl nor wget is installed. Install one of them, or download the release and pass its folder with --from."
		fi
		;;
	*)
		[ -f "$from/$1" ] || fail "there is no $1 in $from. Pass --from with the folder or the address of a release."
		cp "$from/$1" "$work/$1"
		;;
	esac
}

# verify compares the archive with its checksum.
verify() {
	want=$(awk -v name="$archive" '$2 == name { print $1 }' "$work/checksums.txt")
	if command -v sha256sum >/dev/null; then
		got=$(sha256sum <"$work/$archive")
	elif command -v shasum >/dev/null; then
		got=$(shasum -a 256 <"$work/$archive")
	else
		fail "the archive cannot be verified: neither sha256sum nor shasum is installed. Install one of them. Nothing was installed."
	fi
	got=${got%% *}
	[ "$want" = "$got" ] || fail "$archive does not have the checksum in checksums.txt, so it is damaged or was changed. Nothing was installed.
  expected $want
  found    $got
Download the release again. If that does not help, tell those who published it."
}

# copy_all copies the tree to the prefix. The list is complete before the first file is
# copied, so an install that was interrupted can be repeated or removed.
copy_all() {
	: >"$work/old"
	if [ -f "$list" ]; then cat "$list" >"$work/old"; fi
	while read -r file; do
		if [ -e "$prefix/$file" ] || [ -L "$prefix/$file" ]; then
			listed "$file" || fail "$prefix/$file exists, and this script has not installed it. Remove it, or pass another --prefix. Nothing was changed."
		fi
	done <"$work/files"

	# Folders have a slash at the end. Only those that an install has created are listed.
	{
		echo share/gaffer/installed
		cat "$work/files"
		while read -r folder; do
			if [ ! -d "$prefix/$folder" ] || listed "$folder/"; then echo "$folder/"; fi
		done <"$work/folders"
	} | LC_ALL=C sort >"$work/new"
	mkdir -p "$prefix/share/gaffer"
	LC_ALL=C sort -u "$work/old" "$work/new" >"$list.tmp"
	mv -f "$list.tmp" "$list"

	while read -r folder; do mkdir -p "$prefix/$folder"; done <"$work/folders"
	while read -r file; do
		# A rename replaces a program that runs; agents under the old one are not disturbed.
		cp "$tree/$file" "$prefix/$file.tmp"
		mv -f "$prefix/$file.tmp" "$prefix/$file"
	done <"$work/files"

	# What the last version had and this one has not.
	LC_ALL=C comm -23 "$work/old" "$work/new" >"$work/obsolete"
	remove_listed "$work/obsolete"
	cp "$work/new" "$list.tmp"
	mv -f "$list.tmp" "$list"
}

listed() { grep -Fqx -- "$1" "$work/old"; }

remove_all() {
	if [ ! -f "$list" ]; then
		say "nothing to remove: there is no $list. If gaffer is elsewhere, pass its --prefix."
		return
	fi
	cp "$list" "$work/old"
	remove_listed "$work/old"
	say "removed gaffer from $prefix. Your settings and runs remain; 'What stays' in docs/install.md says where they are."
}

# remove_listed removes the files of a list, and then the folders that are empty.
remove_listed() {
	grep -v '/$' "$1" >"$work/remove" || true
	while read -r file; do rm -f "$prefix/$file" "$prefix/$file.tmp"; done <"$work/remove"
	grep '/$' "$1" | LC_ALL=C sort -r >"$work/remove" || true
	while read -r folder; do rmdir "$prefix/${folder#./}" 2>/dev/null || true; done <"$work/remove"
}

say() { echo "install.sh: $*" >&2; }

fail() {
	say "$*"
	exit 1
}

usage() {
	say "$*"
	echo "usage: sh install.sh [--from PLACE] [--prefix FOLDER] [--uninstall]" >&2
	exit 2
}

main "$@"
