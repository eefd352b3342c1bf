#!/bin/sh
# setup.sh: makes run.sh ready. Needs Go and a Debian, with root for what is not installed yet; elsewhere
# install QEMU for arm64 and cpio, and put an arm64 kernel at $QEMU_HOME/vmlinuz. Does nothing twice.
set -eu
cd "$(dirname "$0")"
home=${QEMU_HOME:-$(git rev-parse --show-toplevel)/.tools/qemu}
mkdir -p "$home"

lacks() {
	echo "qemu: $1" >&2
	exit 1
}

if ! command -v qemu-system-aarch64 >/dev/null || ! command -v cpio >/dev/null; then
	need="qemu-system-aarch64 and cpio are not installed"
	command -v apt-get >/dev/null || lacks "$need: install QEMU for arm64 (aarch64) and cpio"
	[ "$(id -u)" = 0 ] || lacks "$need: run, as root, apt-get install --no-install-recommends qemu-system-arm cpio"
	apt-get -qq update
	DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install qemu-system-arm cpio >/dev/null
fi

if ! [ -f "$home/vmlinuz" ]; then
	need="no kernel: put the vmlinuz of an arm64 Linux, 5.17 or later, at $home/vmlinuz"
	for tool in apt-get apt-cache dpkg-deb; do
		command -v "$tool" >/dev/null || lacks "$need ($tool, to fetch Debian's, is not installed)"
	done
	apt=$home/apt
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/root"
	# Another architecture's package lists, apart from the machine's own.
	cat >"$apt/conf" <<-END
		APT::Architecture "arm64";
		APT::Architectures {"arm64";};
		APT::Sandbox::User "root";
		Acquire::Languages "none";
		Dir::State::Lists "$apt/lists";
		Dir::State::status "/dev/null";
		Dir::Cache "$apt/cache";
	END
	export APT_CONFIG="$apt/conf"
	apt-get -qq update || lacks "$need (apt-get update has failed)"
	package=$(apt-cache depends linux-image-arm64 2>/dev/null | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
	[ -n "$package" ] || lacks "$need (the package sources of this machine have no linux-image-arm64)"
	(cd "$apt" && apt-get -qq download "$package" && dpkg-deb -x "$package"_*.deb root) || lacks "$need ($package cannot be fetched)"
	cp "$apt"/root/boot/vmlinuz-* "$home/vmlinuz"
	rm -rf "$apt"
fi

GOOS=linux GOARCH=arm64 CGO_ENABLED=0 GOFLAGS= go build -ldflags=-s -o "$home/init" ./init
