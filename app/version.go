package app

import "runtime/debug"

// version of the program; release builds set it with -ldflags "-X punctual/app.version=v1.2.3".
var version = "dev"

// Version returns the version of the program and the commit that it was built from, if the build knew it.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version
	}
	text := version
	if v := info.Main.Version; text == "dev" && v != "" && v != "(devel)" {
		text = v // built by go install, or from a tagged commit
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			text += " (" + s.Value[:12] + ")"
		}
	}
	return text + " " + info.GoVersion
}
