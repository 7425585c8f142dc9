# Starts kamal-proxy on port $2 in front of port $3, with its files in the folder $1. It answers 404
# until it is told of a server, so a first run of it, on any port, is told; the second one knows from
# its file. What it logs of each request is written, as where it serves users, and not kept.
mkdir -p "$1"
rm -f "$1/kamal-proxy.sock"
kamal-proxy run --http-port 0 --https-port 0 >/dev/null &
tries=0
until [ -S "$1/kamal-proxy.sock" ]; do
  tries=$((tries + 1))
  [ "$tries" -lt 200 ] || { echo "kamal-proxy did not come up" >&2; exit 1; }
  sleep 0.05
done
kamal-proxy deploy app --force --target "127.0.0.1:$3"
kill "$!"
wait "$!" || :
exec kamal-proxy run --http-port "$2" --https-port 0 >/dev/null
