package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"reflect"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/caarlos0/env/v11"
	"github.com/goccy/go-yaml"
	"github.com/joho/godotenv"
)

// Sources are where settings are read from. The environment wins over the environment file, that over
// the file, and that over the defaults. The command line applies its flags after Load.
type Sources struct {
	File    string            // YAML; "" for none. A named file must exist.
	EnvFile string            // KEY=VALUE lines; "" for none
	Environ map[string]string // the process environment
}

// Environ returns the process environment as a map.
func Environ() map[string]string {
	out := map[string]string{}
	for _, kv := range os.Environ() {
		if k, v, ok := strings.Cut(kv, "="); ok {
			out[k] = v
		}
	}
	return out
}

// Load reads the settings over the defaults. It reports all problems of the files and the environment
// together. It does not check what the values mean: Validate does, after the flags are applied.
func Load(src Sources) (Config, error) {
	c := Default()
	var problems []error
	if src.File != "" {
		problems = append(problems, readFile(src.File, &c))
	}
	environ := map[string]string{}
	if src.EnvFile != "" {
		vars, err := readVariables(src.EnvFile)
		if err != nil {
			problems = append(problems, fmt.Errorf("environment file %s: %w", src.EnvFile, err))
		}
		maps.Copy(environ, vars)
	}
	maps.Copy(environ, src.Environ)
	for name, v := range environ {
		environ[name] = clean(v)
	}
	problems = append(problems, readEnviron(environ, &c)...)
	trim(reflect.ValueOf(&c).Elem())
	c.UnknownVariables = unknownVariables(environ)
	if c.LLM.APIKey == "" {
		c.LLM.APIKey = environ["OPENAI_API_KEY"] // used only when a model or base URL is set
	}
	if err := errors.Join(problems...); err != nil {
		return Config{}, err
	}
	return c, nil
}

// byteOrderMark begins text files that some editors write.
const byteOrderMark = "\ufeff"

// readVariables reads an environment file.
func readVariables(path string) (map[string]string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return godotenv.UnmarshalBytes(bytes.TrimPrefix(raw, []byte(byteOrderMark)))
}

// clean returns a value without the white space and the marks without width around it: a file of a secret ends with a line end and
// may begin with a byte order mark, and text that is copied from a page may have others.
func clean(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) })
}

func readFile(path string, c *Config) error {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("settings file %s does not exist", path)
	}
	if err != nil {
		return fmt.Errorf("settings file: %w", err)
	}
	raw = bytes.TrimPrefix(raw, []byte(byteOrderMark))
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil
	}
	if err := yaml.UnmarshalWithOptions(raw, c, yaml.Strict()); err != nil {
		return fmt.Errorf("settings file %s:\n%s", path, yaml.FormatError(err, false, true))
	}
	return nil
}

// readEnviron sets fields that have an env tag. A variable that is unset or empty changes nothing.
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

// unreadable names the variable whose value does not fit its field. The parser's own error names only
// the field's type.
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
	var reasons []string
	for name, f := range settingFields(reflect.TypeFor[Config]()) {
		// The parser's error has the name and the type of the field, and not of which struct.
		if v, ok := environ[name]; ok && f.Name == p.Name && f.Type == p.Type {
			reasons = append(reasons, fmt.Sprintf("%s: %q is not a %s", name, v, want))
		}
	}
	if len(reasons) != 1 {
		return p // two structs have fields of this name, and the parser does not say which failed
	}
	return errors.New(reasons[0])
}

// settingFields lists the fields of the settings that a variable sets, by variable.
func settingFields(t reflect.Type) iter.Seq2[string, reflect.StructField] {
	return func(yield func(string, reflect.StructField) bool) {
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("env"), ",")
			switch {
			case name != "":
				if !yield(name, f) {
					return
				}
			case f.Type.Kind() == reflect.Struct:
				for name, inner := range settingFields(f.Type) {
					if !yield(name, inner) {
						return
					}
				}
			}
		}
	}
}

// trim cleans every text of the settings: keys, tokens and addresses have no white space, and files end with it.
func trim(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(clean(v.String()))
	case reflect.Struct:
		for _, f := range v.Fields() {
			trim(f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			trim(v.Index(i))
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			e := reflect.New(v.Type().Elem()).Elem()
			e.Set(it.Value())
			trim(e)
			v.SetMapIndex(it.Key(), e)
		}
	default:
	}
}

// redacted is printed in place of a secret.
const redacted = "[redacted]"

// Redacted returns the settings as YAML without secrets. Passwords inside URLs are secrets too.
func (c Config) Redacted() ([]byte, error) {
	blank := c
	redact(reflect.ValueOf(&blank).Elem())
	out, err := yaml.Marshal(blank)
	if err != nil {
		return nil, fmt.Errorf("print settings: %w", err)
	}
	return out, nil
}

// redact replaces strings with the tag secret:"true", and the password in those with the tag
// secret:"url". It copies maps, because the settings share them.
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

// redactURL hides the password in scheme://user:password@host and in parameters such as ?password=,
// also in a malformed URL.
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

// passwords matches the secret parameters of libpq and their values.
var passwords = regexp.MustCompile(`(?i)([?&][^=&]*password=)[^&]*`)
