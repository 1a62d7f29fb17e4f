// Package config gathers the settings of a gateway: defaults, a YAML file, the
// environment and flags, in that order of strength. It knows the Config
// structs of the packages, validates them together, and prints them with
// secrets redacted. Only the composition root and the commands import it.
package config
