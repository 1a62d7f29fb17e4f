package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// profiles is the file of profiles.
type profiles struct {
	// Default is the profile that is used when none is named: that of the last login.
	Default  string             `json:"default"`
	Profiles map[string]profile `json:"profiles"`
}

// profile is a gateway and a key for it.
type profile struct {
	URL string `json:"url"`
	Key string `json:"key"`
	// Collection is used when a command names none; "": there is no such collection.
	Collection string `json:"collection,omitempty"`
}

// profilesFile returns where profiles are kept: slipbox/profiles.json in XDG_CONFIG_HOME, or else in ~/.config.
func (c *cli) profilesFile() (string, error) {
	dir := c.baseDir("XDG_CONFIG_HOME", ".config")
	if dir == "" {
		return "", errors.New("neither XDG_CONFIG_HOME nor HOME is set, so there is no place for a profile; set SLIPBOX_URL and SLIPBOX_API_KEY instead")
	}
	return filepath.Join(dir, "slipbox", "profiles.json"), nil
}

// baseDir returns a folder of the XDG specification: that of the variable if it is absolute, or else the one in the home; "":
// there is no home.
func (c *cli) baseDir(variable, inHome string) string {
	if dir := c.getenv(variable); filepath.IsAbs(dir) {
		return dir
	}
	home := c.getenv("HOME")
	if home == "" {
		return ""
	}
	return filepath.Join(home, inHome)
}

// readProfiles returns the kept profiles. None are kept in a missing file.
func (c *cli) readProfiles() (profiles, error) {
	p := profiles{Profiles: map[string]profile{}}
	file, err := c.profilesFile()
	if err != nil {
		return p, err
	}
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	if open := info.Mode().Perm() & 0o077; open != 0 {
		return p, fmt.Errorf("%s holds keys and others may read it; chmod 600 %s", file, file)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, fmt.Errorf("%s is not valid JSON (%w); correct it, or delete it and run `slipbox login`", file, err)
	}
	if p.Profiles == nil {
		p.Profiles = map[string]profile{}
	}
	return p, nil
}

// writeProfiles replaces the file as a whole. Only its owner may read it.
func (c *cli) writeProfiles(p profiles) (file string, err error) {
	if file, err = c.profilesFile(); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}
	raw, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return "", err
	}
	return file, replaceFile(file, append(raw, '\n'), 0o600)
}

// replaceFile writes a file that has the old content or the new one, also after a crash.
func replaceFile(file string, content []byte, mode fs.FileMode) error {
	part, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-") // with mode 0600
	if err != nil {
		return err
	}
	_, err = part.Write(content)
	err = errors.Join(err, part.Chmod(mode), part.Sync(), part.Close())
	if err == nil {
		err = os.Rename(part.Name(), file)
	}
	if err != nil {
		_ = os.Remove(part.Name())
	}
	return err
}

// connect returns a client of the gateway that flags, environment and profile name.
func (c *cli) connect() (*client, error) {
	kept, err := c.chosen()
	if err != nil {
		return nil, err
	}
	to := &client{http: c.http, collection: kept.Collection}
	address, key := kept.URL, ""
	if c.profile == "" { // a flag wins over the environment
		address = cmp.Or(c.getenv("SLIPBOX_URL"), kept.URL)
	}
	if to.base, err = parseBase(cmp.Or(c.url, address, defaultURL)); err != nil {
		return nil, err
	}
	if c.profile == "" {
		key = c.envKeyFor(to.base, cmp.Or(c.getenv("SLIPBOX_URL"), to.base))
	}
	// The key of a profile is not sent to another address.
	if same, err := parseBase(kept.URL); key == "" && err == nil && same == to.base {
		key = kept.Key
	}
	if key == "" {
		if c.profile == "" && c.envKey() != "" {
			return nil, failure{"the key in the environment is for SLIPBOX_URL and is not sent to " + to.base + "; set SLIPBOX_URL to it, or keep a key for it with `slipbox login " + to.base + "`", ExitKey}
		}
		return nil, failure{"no key for " + to.base + "; keep one with `slipbox login " + to.base + "`, or set SLIPBOX_API_KEY (`gateway key create` prints one)", ExitKey}
	}
	to.key = key
	return to, checkKey(key)
}

// defaultURL is where a gateway listens unless it is told otherwise.
const defaultURL = "http://127.0.0.1:8080"

// envKey returns the key in the environment; "": none. SLIPBOX_KEY is the name that `make run` and the client packages use.
func (c *cli) envKey() string {
	return strings.TrimSpace(cmp.Or(c.getenv("SLIPBOX_API_KEY"), c.getenv("SLIPBOX_KEY")))
}

// envKeyFor returns the key in the environment for an address; "": none, or one that is for another address, own.
func (c *cli) envKeyFor(base, own string) string {
	if of, err := parseBase(own); err != nil || of != base {
		return ""
	}
	return c.envKey()
}

// chosen returns the profile that is named, or the default one; the zero profile when none is kept.
func (c *cli) chosen() (profile, error) {
	if _, err := c.profilesFile(); err != nil && c.profile == "" {
		return profile{}, nil // without a home, such as in a container, the environment says everything
	}
	list, err := c.readProfiles()
	if err != nil && c.profile == "" && c.getenv("SLIPBOX_URL") != "" && c.envKey() != "" {
		return profile{}, nil // the environment says everything, and a file that cannot be read is not needed
	}
	if err != nil || c.profile == "" {
		return list.Profiles[list.Default], err
	}
	p, ok := list.Profiles[c.profile]
	if !ok {
		known := "there is none yet"
		if len(list.Profiles) > 0 {
			known = "there are " + strings.Join(slices.Sorted(maps.Keys(list.Profiles)), ", ")
		}
		return profile{}, fmt.Errorf("no profile is called %q; %s; make one with `slipbox login URL --profile %s`", c.profile, known, c.profile)
	}
	return p, nil
}
