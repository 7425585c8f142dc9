# Shows once a second what a container's or a machine's processes and their control group have used
# so far, in lines that read.rs reads: `NAME VALUE`, or a line of a file below /proc. For dash and
# busybox. A file that is not there is left out. What this uses is the container's, so little is
# started: a file of one line is read by the shell, and `cat` gets all others in two calls.
# SWEETSPOT_CGROUP names a folder of version 2: then that group, and those in it at any depth, are
# all that is looked at.
exec 2>/dev/null
g=/sys/fs/cgroup
w=$SWEETSPOT_CGROUP
if [ -n "$w" ] && ! [ -r "$w/cgroup.procs" ]; then exit; fi
c= a= m= own= up= v= n=0 p= i=
# Version 2: the container's own folder. The top of a whole node has no cgroup.events, and who came
# by ssh is in a group of his own.
read -r own </proc/self/cgroup
case $own in
0::/user.slice/* | 0::/system.slice/*.service) own=0:: ;;
esac
for d in ${w:+"$w"} "$g${own#0::}" "$g"; do
    if [ -r "$d/cgroup.events" ]; then c=$d m=$d; break; fi
done
# Version 1: a folder for each controller.
if [ -z "$c" ]; then
    for d in "$g/cpu" "$g/cpu,cpuacct" "$g/cpuacct,cpu"; do
        if [ -r "$d/cpu.stat" ]; then c=$d; break; fi
    done
    for d in "$g/cpuacct" "$g/cpu,cpuacct" "$g/cpuacct,cpu"; do
        if [ -r "$d/cpuacct.usage" ]; then a=$d; break; fi
    done
    m=$g/memory
fi
one() {
    if [ -r "$2/$1" ] && read -r v <"$2/$1"; then echo "$1 $v"; fi
}
# The processes of group $w and of those in it: a level at a time, as long as there is one.
ids() {
    cd "$w" || return
    l=.
    # shellcheck disable=SC2086 # a pattern
    while set -- $l/cgroup.procs && [ -e "$1" ]; do
        cat "$@"
        l="$l/*"
    done
}
read -r up _ </proc/uptime
end=$((${up%.*} + FOR_AT_MOST_S))
while [ "$n" -lt FOR_AT_MOST_S ]; do
    read -r up _ </proc/uptime
    if [ "${up%.*}" -ge "$end" ]; then break; fi
    # Nobody reads any more: it ends here, where SIGPIPE has not ended it.
    echo "sweetspot-usage $$" || exit
    one memory.current "$m"
    one memory.max "$m"
    one memory.swap.current "$m"
    one memory.usage_in_bytes "$m"
    one memory.limit_in_bytes "$m"
    one memory.failcnt "$m"
    one cpu.pressure "$c"
    one memory.pressure "$c"
    one io.pressure "$c"
    cat "$m/memory.stat" "$m/memory.events" "$m/memory.oom_control"
    one cpuacct.usage "$a"
    p=/proc/[0-9]*/stat
    if [ -n "$w" ]; then
        p=
        for i in $(ids); do
            p="$p /proc/$i/stat"
        done
    fi
    # In one call, so that little time passes between the time stamp and the counters.
    # shellcheck disable=SC2086 # a pattern, or a list
    cat /proc/uptime "$c/cpu.stat" $p
    echo sweetspot-usage-end || exit
    n=$((n + 1))
    sleep 1 || exit
done
