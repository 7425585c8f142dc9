# Starts nginx with the configuration $1 in the folder $2: with as many open files as it may have, and
# as root's own where root starts it, whose folder nobody else may enter.
ulimit -n "$(ulimit -H -n)" || :
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
user=
[ "$(id -u)" -ne 0 ] || user="user root;"
exec nginx -e stderr -p "$2" -c "$1" -g "$user"
