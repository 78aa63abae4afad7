#!/usr/bin/busybox sh
# The first process of the emulated machine.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
/usr/bin/busybox --install -s /usr/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs -o size=1500m tmpfs /tmp
dmesg -n 1
for module in /modules/*.ko; do
    insmod "$module" || echo "PORT not loaded: $module"
done
# The last line of the script: a script that ended early is not done.
sh /steps.sh && [ -e /done ] && echo "PORT done"
poweroff -f
