// Package build says what version of slipbox a binary is.
package build

import "runtime/debug"

// Set by the linker (make build): -X …/internal/build.version=v1.2.3.
var (
	version = ""
	commit  = ""
	date    = "" // RFC 3339
)

// Info describes a build.
type Info struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Date    string `json:"date"`
	Go      string `json:"go"`
}

// Current describes this build. Fields that the linker did not set come from the toolchain;
// the rest is "unknown".
func Current() Info {
	b := Info{Version: version, Commit: commit, Date: date}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.Go = info.GoVersion
		if b.Version == "" {
			b.Version = info.Main.Version
		}
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision" && b.Commit == "":
				b.Commit = s.Value
			case s.Key == "vcs.time" && b.Date == "":
				b.Date = s.Value
			}
		}
	}
	for _, f := range []*string{&b.Version, &b.Commit, &b.Date, &b.Go} {
		if *f == "" {
			*f = "unknown"
		}
	}
	return b
}
