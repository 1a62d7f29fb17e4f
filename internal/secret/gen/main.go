// Gen makes the table of package secret from the rules of gitleaks (MIT): what a key of a service looks like, and
// which words are near it. It is a module of its own, so its dependencies are not dependencies of the product. No
// code of gitleaks is used. Run "go -C internal/secret/gen run ." only to take the rules of another version: it needs
// the Go module proxy.
//
// Left out are rules about names of files. Two things are changed. The end of a secret may be any character that
// cannot be a part of it, because people end sentences with a period; in files of code a quote or a space follows. And
// the lazy prefix of rules that begin with a word is cut off: it only widens the match.
package main

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"
)

// module is the version that the rules are from; go mod download checks its sum.
const module = "github.com/zricethezav/gitleaks/v8@v8.30.1"

type allowlist struct {
	Regexes     []string `toml:"regexes"`
	RegexTarget string   `toml:"regexTarget"`
	Stopwords   []string `toml:"stopwords"`
	Paths       []string `toml:"paths"`
}

type source struct {
	Allowlist allowlist `toml:"allowlist"`
	Rules     []struct {
		ID          string      `toml:"id"`
		Regex       string      `toml:"regex"`
		Path        string      `toml:"path"`
		Entropy     float64     `toml:"entropy"`
		SecretGroup int         `toml:"secretGroup"`
		Keywords    []string    `toml:"keywords"`
		Allowlists  []allowlist `toml:"allowlists"`
	} `toml:"rules"`
}

// table and rule are what package secret reads.
type table struct {
	Allow     []string `json:"allow"`     // secrets that are none, of any rule
	Stopwords []string `json:"stopwords"` // a secret of the rule generic-api-key that has one of them is none
	Rules     []rule   `json:"rules"`
}

type rule struct {
	ID         string   `json:"id"`
	Regex      string   `json:"regex"`
	Entropy    float64  `json:"entropy,omitempty"`
	Group      int      `json:"group,omitempty"`
	Keywords   []string `json:"keywords"`
	Allow      []string `json:"allow,omitempty"`       // secrets that are none
	AllowMatch []string `json:"allow_match,omitempty"` // matches that are none
}

func main() {
	out, err := exec.Command("go", "mod", "download", "-json", module).Output()
	check(err)
	var m struct{ Dir string }
	check(json.Unmarshal(out, &m))
	var in source
	_, err = toml.DecodeFile(filepath.Join(m.Dir, "config", "gitleaks.toml"), &in)
	check(err)

	t := table{Allow: in.Allowlist.Regexes}
	for _, r := range in.Rules {
		// Private keys and the words of the program curl are not found beside a key; the package looks for them itself.
		if r.Path != "" || r.Regex == "" || r.ID == "private-key" || strings.HasPrefix(r.ID, "curl-") {
			continue
		}
		x := strings.ReplaceAll(r.Regex, `(?:[\x60'"\s;]|\\[nr]|$)`, `(?:[^\w+/=-]|$)`)
		x = strings.Replace(x, `[\w.-]{0,50}?`, "", 1)
		regexp.MustCompile(x)
		to := rule{ID: r.ID, Regex: x, Entropy: r.Entropy, Group: r.SecretGroup, Keywords: r.Keywords}
		for _, a := range r.Allowlists {
			switch {
			case len(a.Paths) > 0 || a.RegexTarget == "line":
			case a.RegexTarget == "match":
				to.AllowMatch = append(to.AllowMatch, a.Regexes...)
			default:
				to.Allow = append(to.Allow, a.Regexes...)
			}
			if r.ID == "generic-api-key" {
				t.Stopwords = append(t.Stopwords, a.Stopwords...)
			}
		}
		t.Rules = append(t.Rules, to)
	}
	raw, err := json.Marshal(t)
	check(err)
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	check(err)
	_, err = w.Write(raw)
	check(err)
	check(w.Close())
	check(os.WriteFile("../rules.bin", packed.Bytes(), 0o644))
	log.Printf("%d rules, %d bytes, %d packed", len(t.Rules), len(raw), packed.Len())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
