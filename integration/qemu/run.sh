#!/bin/sh
# run.sh BINARY [ARGUMENT...]: runs a static arm64 program as root of an emulated machine, for go test -exec. Its
# working directory has the testdata of the current one, and its environment the REQUIRE_ variables.
#   QTIMEOUT  limit in seconds (300)
#   QCPU      emulated CPU (max,pauth-impdef=on)
set -eu
home=${QEMU_HOME:-$(git rev-parse --show-toplevel)/.tools/qemu}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

mkdir -p "$tmp/root/work"
cp "$home/init" "$tmp/root/init"
cp "$1" "$tmp/root/program"
[ ! -d testdata ] || cp -r testdata "$tmp/root/work/"
shift
printf '%s\n' "$@" >"$tmp/root/arguments"
env | grep '^REQUIRE_' >"$tmp/root/environment" || true
chmod -R a+rX "$tmp/root"
(cd "$tmp/root" && find . | cpio --quiet -o -H newc) >"$tmp/initrd"

# -icount makes one nanosecond of each instruction, and so counts of them exact.
timeout "${QTIMEOUT:-300}" qemu-system-aarch64 \
	-M virt -cpu "${QCPU:-max,pauth-impdef=on}" -smp 2 -m 512 -icount shift=0 \
	-nographic -nodefaults -no-reboot -serial stdio -monitor none -net none \
	-kernel "$home/vmlinuz" -initrd "$tmp/initrd" -append "console=ttyAMA0 panic=-1 quiet" \
	</dev/null | tr -d '\r' | tee "$tmp/output" | { grep -v -e '^guest: exit status ' -e 'reboot: Power down' || true; }

if ! grep -q '^guest: exit status ' "$tmp/output"; then
	echo "qemu: the guest has not ended in ${QTIMEOUT:-300} seconds" >&2
	exit 1
fi
grep -q '^guest: exit status 0$' "$tmp/output"
