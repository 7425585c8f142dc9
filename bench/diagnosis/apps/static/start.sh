#!/bin/sh
# nginx as one process that answers everything with a line of text. Usage: start.sh PORT, with
# BENCH_SCRATCH as the folder that it may write to.
set -eu
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
ulimit -n "$(ulimit -H -n)" || :
sed -e "s|SCRATCH|$BENCH_SCRATCH|" -e "s|PORT|$1|" nginx.conf > "$BENCH_SCRATCH/nginx.conf"
exec nginx -e stderr -p "$BENCH_SCRATCH" -c "$BENCH_SCRATCH/nginx.conf"
