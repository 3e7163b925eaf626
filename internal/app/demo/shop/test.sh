# Runs what each tool brings along. gaffer runs it after every merge.
set -eu
for test in *_test.sh; do
	[ -e "$test" ] || continue
	sh -e "$test"
	echo "ok $test"
done
