#!/bin/sh
# install.sh FOLDER [NAME…]: installs the engines of engines.tsv at their pinned versions, each in a folder of its own.
# Our own packages are built from this repository, or taken from FOXWEDGE_WHEEL and FOXWEDGE_NPM.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:?usage: install.sh FOLDER [NAME...]}
shift
mkdir -p "$folder"
grep -v '^#' "$here/engines.tsv" | while IFS="$(printf '\t')" read -r name runtime adapter packages; do
  case " $* " in "  " | *" $name "*) ;; *) continue ;; esac
  [ -e "$folder/$name/ready" ] && continue
  case "$name" in
    foxwedge-python) packages=${FOXWEDGE_WHEEL:-$here/../../$packages} ;;
    foxwedge-npm)
      [ -n "${FOXWEDGE_NPM:-}" ] || (cd "$here/../../$packages" && node build.mjs)
      packages="--install-links ${FOXWEDGE_NPM:-$here/../../$packages}"
      ;;
  esac
  echo "$name: $packages"
  if [ "$runtime" = python ]; then
    python3 -m venv "$folder/$name"
    # shellcheck disable=SC2086
    "$folder/$name/bin/pip" install --quiet $packages
  else
    mkdir -p "$folder/$name"
    # shellcheck disable=SC2086
    (cd "$folder/$name" && npm init -y >/dev/null && npm install --no-audit --no-fund --ignore-scripts $packages)
  fi
  touch "$folder/$name/ready"
done
