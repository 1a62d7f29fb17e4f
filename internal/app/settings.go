package app

import "github.com/slipboxhq/slipbox/internal/config"

// Settings are the settings of config. Commands use them through this package.
type Settings = config.Config

// SettingsSources are the sources of settings; see config.Sources.
type SettingsSources = config.Sources

// LoadSettings reads settings; see config.Load.
func LoadSettings(src SettingsSources) (Settings, error) { return config.Load(src) }

// LoadValidSettings reads settings, applies flags and validates; see config.LoadValid.
func LoadValidSettings(src SettingsSources, apply ...func(*Settings)) (Settings, error) {
	return config.LoadValid(src, apply...)
}

// Environ returns the process environment as a map.
func Environ() map[string]string { return config.Environ() }
