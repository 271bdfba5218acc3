# What the scripts beside it share; sourced, not run. They speak of themselves as $me.

# Finds etcd and etcdctl: the newest of LOCKSCOPE_ETCDS, or those on PATH. Sets bin to the folder
# with a slash, or to nothing.
find_etcd() {
  bin=
  if [ -n "${LOCKSCOPE_ETCDS:-}" ]; then
    local newest
    newest=$(cd "$LOCKSCOPE_ETCDS" && ls -d -- */etcd | sort -V | tail -n 1)
    bin=$(cd "$LOCKSCOPE_ETCDS/$(dirname "$newest")" && pwd)/
  elif ! command -v etcd >/dev/null || ! command -v etcdctl >/dev/null; then
    echo "$me: no etcd and etcdctl on PATH, and LOCKSCOPE_ETCDS names no folder with <version>/etcd" >&2
    exit 69
  fi
}

# Takes away what the environment says to etcd and etcdctl, but for names that match a pattern.
forget_etcd_settings() {
  local kept=${1:-} name
  export ETCDCTL_API=3
  for name in $(compgen -e); do
    # shellcheck disable=SC2254 # a pattern
    case $name in ETCDCTL_API | $kept) ;; ETCD*) unset "$name" ;; esac
  done
}

# Ends the script unless a flag has a value behind it: the flag, what it needs, the value if there is one.
check_value() {
  [ -n "${3:-}" ] || {
    echo "$me: $1 needs $2" >&2
    exit 2
  }
}

# Ends the script unless a number can be the base of ports up to BASE plus a number.
check_base() {
  [[ $1 =~ ^[0-9]{4,5}$ ]] && (($1 >= 1024 && $1 <= 65535 - $2)) || {
    echo "$me: --port needs a number from 1024 to $((65535 - $2))" >&2
    exit 2
  }
}

# Ends the script unless nobody listens on the ports BASE+1 to BASE plus a number.
check_ports() {
  local offset
  for ((offset = 1; offset <= $2; offset++)); do
    if (exec 3<>"/dev/tcp/127.0.0.1/$(($1 + offset))") 2>/dev/null; then
      echo "$me: port $(($1 + offset)) is in use; choose others with --port BASE (BASE+1 to BASE+$2)" >&2
      exit 1
    fi
  done
}
