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
	"strconv"
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
// together. It does not check what the values mean: LoadValid does.
func Load(src Sources) (Config, error) {
	c, _, err := load(src)
	if err != nil {
		return Config{}, err
	}
	return c, nil
}

// LoadValid is Load with flags, which apply sets, and validation. All problems are reported together, unless the file cannot be
// understood: then what it would set is not known.
func LoadValid(src Sources, apply ...func(*Config)) (Config, error) {
	c, whole, err := load(src)
	for _, fn := range apply {
		fn(&c)
	}
	if whole {
		err = errors.Join(err, c.Validate())
	}
	if err != nil {
		return Config{}, err
	}
	return c, nil
}

// load reads the settings. With an error, whole reports whether all that could be read is set.
func load(src Sources) (c Config, whole bool, err error) {
	c, whole = Default(), true
	var problems []error
	if src.File != "" {
		understood, err := readFile(src.File, &c)
		problems, whole = append(problems, err), understood
	}
	environ := map[string]string{}
	if src.EnvFile != "" {
		vars, err := readVariables(src.EnvFile)
		if err != nil {
			problems, whole = append(problems, fmt.Errorf("environment file %s: %w", src.EnvFile, err)), false
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
	return c, whole, errors.Join(problems...)
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

// readFile reads the file of settings. With an error, it reports whether the settings that it could read are all set.
func readFile(path string, c *Config) (understood bool, err error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("settings file %s does not exist", path)
	}
	if err != nil {
		return false, fmt.Errorf("settings file: %w", err)
	}
	raw = bytes.TrimPrefix(raw, []byte(byteOrderMark))
	if len(bytes.TrimSpace(raw)) == 0 {
		return true, nil
	}
	if err := yaml.UnmarshalWithOptions(raw, c, yaml.Strict()); err != nil {
		understood = yaml.Unmarshal(raw, c) == nil // such as with an unknown name
		return understood, fmt.Errorf("settings file %s:\n%s", path, yaml.FormatError(err, false, true))
	}
	return true, nil
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
	out := unreadable(environ)
	for _, e := range all.Errors {
		if _, ok := errors.AsType[env.ParseError](e); !ok || len(out) == 0 {
			out = append(out, fmt.Errorf("environment: %w", e))
		}
	}
	return out
}

// unreadable names the variables whose values do not fit their fields. The parser's own errors name only the field.
func unreadable(environ map[string]string) (out []error) {
	for name, f := range settingFields(reflect.TypeFor[Config](), "") {
		value, set := environ[name]
		var want string
		var err error
		switch kind := f.Type.Kind(); {
		case !set:
		case f.Type == reflect.TypeFor[time.Duration]():
			want = "duration such as 30s or 5m"
			_, err = time.ParseDuration(value)
		case kind == reflect.Int || kind == reflect.Int64:
			want = "whole number"
			_, err = strconv.ParseInt(value, 10, 64)
		case kind == reflect.Float64:
			want = "number"
			_, err = strconv.ParseFloat(value, 64)
		case kind == reflect.Bool:
			want = "bool: true or false"
			_, err = strconv.ParseBool(value)
		}
		if err != nil {
			out = append(out, fmt.Errorf("environment: %s: %q is not a %s", name, value, want))
		}
	}
	return out
}

// setting is a field of the settings.
type setting struct {
	reflect.StructField
	path string // in the file
}

// settingFields lists the fields of the settings that a variable sets, by variable.
func settingFields(t reflect.Type, under string) iter.Seq2[string, setting] {
	return func(yield func(string, setting) bool) {
		for f := range t.Fields() {
			at, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			name, _, _ := strings.Cut(f.Tag.Get("env"), ",")
			switch {
			case name != "":
				if !yield(name, setting{f, under + at}) {
					return
				}
			case f.Type.Kind() == reflect.Struct:
				for name, inner := range settingFields(f.Type, under+at+".") {
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
