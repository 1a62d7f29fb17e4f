package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/goccy/go-yaml"
	"github.com/joho/godotenv"
)

// Sources says where settings are read from, weakest first: the defaults, the
// file, the environment file, the environment. Flags are applied by the
// command line after Load.
type Sources struct {
	File    string            // YAML; "" none. A file that is named must exist
	EnvFile string            // KEY=VALUE lines; "" none
	Environ map[string]string // the process environment
}

// Environ gives the process environment as a map.
func Environ() map[string]string {
	out := map[string]string{}
	for _, kv := range os.Environ() {
		if k, v, ok := strings.Cut(kv, "="); ok {
			out[k] = v
		}
	}
	return out
}

// Load reads the settings over the defaults. It reports every problem of the
// file and the environment together, not the first one; it does not validate
// what the values mean, which Validate does after flags are applied.
func Load(src Sources) (Config, error) {
	c := Default()
	var problems []error
	if src.File != "" {
		problems = append(problems, readFile(src.File, &c))
	}
	environ := map[string]string{}
	if src.EnvFile != "" {
		vars, err := godotenv.Read(src.EnvFile)
		if err != nil {
			problems = append(problems, fmt.Errorf("environment file %s: %w", src.EnvFile, err))
		}
		maps.Copy(environ, vars)
	}
	maps.Copy(environ, src.Environ)
	problems = append(problems, readEnviron(environ, &c)...)
	if c.LLM.APIKey == "" {
		c.LLM.APIKey = environ["OPENAI_API_KEY"] // used only when a model or base URL is set
	}
	if err := errors.Join(problems...); err != nil {
		return Config{}, err
	}
	return c, nil
}

func readFile(path string, c *Config) error {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("settings file %s does not exist", path)
	}
	if err != nil {
		return fmt.Errorf("settings file: %w", err)
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil
	}
	if err := yaml.UnmarshalWithOptions(raw, c, yaml.Strict()); err != nil {
		return fmt.Errorf("settings file %s:\n%s", path, yaml.FormatError(err, false, true))
	}
	return nil
}

// readEnviron sets fields that carry an env tag. An unset or empty variable
// changes nothing.
func readEnviron(environ map[string]string, c *Config) []error {
	for k, v := range environ {
		if v == "" {
			delete(environ, k)
		}
	}
	err := env.ParseWithOptions(c, env.Options{Environment: environ})
	if err == nil {
		return nil
	}
	var all env.AggregateError
	if !errors.As(err, &all) {
		return []error{fmt.Errorf("environment: %w", err)}
	}
	out := make([]error, 0, len(all.Errors))
	for _, e := range all.Errors {
		if p, ok := errors.AsType[env.ParseError](e); ok {
			e = unreadable(p, environ)
		}
		out = append(out, fmt.Errorf("environment: %w", e))
	}
	return out
}

// unreadable names the variable whose value is of another type than the field,
// which is all that the parser's own error tells.
func unreadable(p env.ParseError, environ map[string]string) error {
	want := p.Type.String()
	switch {
	case p.Type == reflect.TypeFor[time.Duration]():
		want = "duration such as 30s or 5m"
	case p.Type.Kind() == reflect.Int || p.Type.Kind() == reflect.Int64:
		want = "whole number"
	case p.Type.Kind() == reflect.Float64:
		want = "number"
	}
	var said []string
	for _, name := range variables(reflect.TypeFor[Config](), p) {
		if v, ok := environ[name]; ok {
			said = append(said, fmt.Sprintf("%s: %q is no %s", name, v, want))
		}
	}
	if len(said) != 1 {
		return p // fields of one name in two structs: the parser knows no more
	}
	return errors.New(said[0])
}

// variables lists those that set a field of the parser's name and type.
func variables(t reflect.Type, p env.ParseError) (names []string) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("env"), ",")
		switch {
		case name != "" && f.Name == p.Name && f.Type == p.Type:
			names = append(names, name)
		case f.Type.Kind() == reflect.Struct:
			names = append(names, variables(f.Type, p)...)
		}
	}
	return names
}

// redacted replaces a secret that is set.
const redacted = "[redacted]"

// Redacted gives the settings as YAML with every secret that is set replaced;
// passwords inside URLs count as secrets.
func (c Config) Redacted() ([]byte, error) {
	blank := c
	redact(reflect.ValueOf(&blank).Elem())
	out, err := yaml.Marshal(blank)
	if err != nil {
		return nil, fmt.Errorf("print settings: %w", err)
	}
	return out, nil
}

// redact walks the struct and blanks strings tagged secret:"true" and the
// password part of those tagged secret:"url". Maps are copied, not changed.
func redact(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f, tag := v.Field(i), v.Type().Field(i).Tag.Get("secret")
			switch {
			case tag == "" || f.Kind() != reflect.String:
				redact(f)
			case tag == "url":
				f.SetString(redactURL(f.String()))
			case f.String() != "":
				f.SetString(redacted)
			}
		}
	case reflect.Map:
		if v.IsNil() {
			return
		}
		fresh := reflect.MakeMapWithSize(v.Type(), v.Len())
		for it := v.MapRange(); it.Next(); {
			e := reflect.New(v.Type().Elem()).Elem()
			e.Set(it.Value())
			redact(e)
			fresh.SetMapIndex(it.Key(), e)
		}
		v.Set(fresh)
	default:
	}
}

// redactURL hides "password" in scheme://user:password@host and in parameters,
// such as ?password=, also when the text is no well-formed URL.
func redactURL(s string) string {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return s
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		if user, _, hasPassword := strings.Cut(rest[:at], ":"); hasPassword {
			rest = user + ":" + redacted + rest[at:]
		}
	}
	return scheme + "://" + passwords.ReplaceAllString(rest, "${1}"+redacted)
}

// passwords are the parameters of libpq that are secret, and their values.
var passwords = regexp.MustCompile(`(?i)([?&][^=&]*password=)[^&]*`)
