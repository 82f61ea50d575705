#!/bin/sh
# windows_zones.sh writes windows_zones.txt: the IANA zone of each Windows time zone, from the file
# windowsZones.xml of the Unicode CLDR (on Debian in the package unicode-cldr-core).
set -eu
xml=${1:-/usr/share/unicode/cldr/common/supplemental/windowsZones.xml}
cd "$(dirname "$0")"
sed -n 's/.*<mapZone other="\([^"]*\)" territory="001" type="\([^" ]*\)".*/\1\t\2/p' "$xml" | LC_ALL=C sort >windows_zones.txt
