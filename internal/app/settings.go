package app

import "github.com/slipboxhq/slipbox/internal/config"

// Settings are those of config, which commands reach through this package.
type Settings = config.Config

// SettingsSources says where settings are read from.
type SettingsSources = config.Sources

// LoadSettings reads settings; see config.Load.
func LoadSettings(src SettingsSources) (Settings, error) { return config.Load(src) }

// Environ gives the process environment as a map.
func Environ() map[string]string { return config.Environ() }
