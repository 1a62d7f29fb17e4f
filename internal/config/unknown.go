package config

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/wording"
)

// prefix begins the names of our own variables. DATABASE_URL and its like are named as other programs name them, so
// nothing is said of their neighbors.
const prefix = "SLIPBOX_"

// otherVariables are the variables with our prefix that are not settings of a gateway or worker.
var otherVariables = []string{
	"SLIPBOX_URL", "SLIPBOX_KEY", "SLIPBOX_API_KEY", "SLIPBOX_COLLECTION", // of clients
	"SLIPBOX_POSTGRES_PASSWORD", "SLIPBOX_OWNER_PASSWORD", "SLIPBOX_APP_PASSWORD", "SLIPBOX_PORT", "SLIPBOX_VERSION", // of deploy/compose.yaml
}

// serviceLink matches what Kubernetes sets for a Service whose name begins with slipbox.
var serviceLink = regexp.MustCompile(`_SERVICE_HOST$|_SERVICE_PORT(_[A-Z0-9_]+)?$|_PORT_\d+_(TCP|UDP)(_[A-Z]+)?$`)

// unknownVariables lists the variables of an environment that look like settings and are none, sorted, with the name
// that was probably meant. They are ignored, so that a typing error would not be noticed.
func unknownVariables(environ map[string]string) (unknown []string) {
	var valid []string
	for name := range settingFields(reflect.TypeFor[Config](), "") {
		valid = append(valid, name)
	}
	for _, name := range slices.Sorted(maps.Keys(environ)) {
		isOurs := strings.HasPrefix(strings.ToUpper(name), prefix)
		isKnown := slices.Contains(valid, name) || slices.Contains(otherVariables, name) || serviceLink.MatchString(name)
		if !isOurs || isKnown {
			continue
		}
		if meant := nearestVariable(name, valid); meant != "" {
			name += " (did you mean " + meant + "?)"
		}
		unknown = append(unknown, name)
	}
	return unknown
}

// nearestVariable compares names without their prefix, which would make all of them alike.
func nearestVariable(name string, valid []string) string {
	var ours []string
	for _, v := range valid {
		if rest, ok := strings.CutPrefix(v, prefix); ok {
			ours = append(ours, rest)
		}
	}
	if meant := wording.Nearest(name[len(prefix):], ours); meant != "" {
		return prefix + meant
	}
	return ""
}
