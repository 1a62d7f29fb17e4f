// Package config gathers the settings of a gateway and a worker: defaults, a YAML file, an environment
// file, the environment and flags, of which each wins over those before it. It knows the Config structs
// of the packages, validates them together, and prints them without secrets. Only internal/app and the
// commands import it.
package config
