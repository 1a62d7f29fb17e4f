package tools

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Purpose is the purpose for which the secrets of tools are sealed.
const Purpose = "slipbox secrets of tools 1"

// owner binds the secrets of a tool to it: those of another tool, or tenant, cannot be opened in its place.
func owner(s tenant.Scope, t *memory.HTTPTool) string {
	return s.Tenant().String() + "/" + t.ID.String()
}

// seal encrypts the secrets of a tool.
func (v *Service) seal(s tenant.Scope, t *memory.HTTPTool, secrets map[string]string) error {
	t.Secrets = nil
	if len(secrets) == 0 {
		return nil
	}
	plain, err := json.Marshal(secrets)
	if err != nil {
		return fault.Wrap(err, fault.Internal, "encode the secrets of a tool")
	}
	t.Secrets = v.sealer.Seal(owner(s, t), plain)
	return nil
}

// open decrypts the secrets of a tool. Conflict when they were sealed with another wrapping key.
func (v *Service) open(s tenant.Scope, t *memory.HTTPTool) (map[string]string, error) {
	secrets := map[string]string{}
	if len(t.Secrets) == 0 {
		return secrets, nil
	}
	plain, err := v.sealer.Open(owner(s, t), t.Secrets)
	if err == nil {
		err = json.Unmarshal(plain, &secrets)
	}
	if err != nil {
		return nil, fault.New(fault.Conflict, "the secrets of the tool %s cannot be read, because the wrapping key of this installation is another one; set them again", t.Name)
	}
	return secrets, nil
}

// fill replaces the names of secrets in the values of headers.
func fill(headers, secrets map[string]string) (map[string]string, error) {
	out := make(map[string]string, len(headers))
	for name, value := range headers {
		missing := ""
		out[name] = reference.ReplaceAllStringFunc(value, func(s string) string {
			secret, ok := secrets[s[2:len(s)-2]]
			if !ok {
				missing = s
			}
			return secret
		})
		if missing != "" {
			return nil, fault.New(fault.Conflict, "the secret %s has no value", missing)
		}
	}
	return out, nil
}

// masker returns a function that replaces secrets in a text by their names: as they are, in separate words
// ("Bearer …"), and in the forms in which a service may write them back, in any case of letters.
func masker(secrets map[string]string) func(string) string {
	put := map[string]string{} // by form
	for name, value := range secrets {
		for _, part := range append(strings.Fields(value), value) {
			if len(part) < minSecret {
				continue
			}
			for _, form := range writtenForms(part) {
				if had, ok := put[form]; !ok || name < had {
					put[form] = name
				}
			}
		}
	}
	if len(put) == 0 {
		return func(s string) string { return s }
	}
	// The longest first, since a secret may be a part of another.
	forms := slices.SortedFunc(maps.Keys(put), func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	groups := make([]string, len(forms))
	for i, form := range forms {
		groups[i] = "(" + regexp.QuoteMeta(form) + ")"
	}
	find := regexp.MustCompile("(?i)" + strings.Join(groups, "|"))
	return func(s string) string {
		var b strings.Builder
		end := 0
		for _, at := range find.FindAllStringSubmatchIndex(s, -1) {
			which := 0
			for at[2+2*which] < 0 {
				which++
			}
			b.WriteString(s[end:at[0]])
			fmt.Fprintf(&b, "[secret %s]", put[forms[which]])
			end = at[1]
		}
		return b.String() + s[end:]
	}
}

// writtenForms returns the forms in which a service may write a secret.
func writtenForms(secret string) []string {
	quoted, err := json.Marshal(secret)
	if err != nil {
		quoted = []byte(`""`)
	}
	out := []string{secret, string(quoted[1 : len(quoted)-1]), url.QueryEscape(secret), url.PathEscape(secret), hex.EncodeToString([]byte(secret))}
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		out = append(out, e.EncodeToString([]byte(secret)))
		// Behind other bytes, as in user:secret. What they share a letter with is left out.
		for before := range 3 {
			inner := e.EncodeToString(append(make([]byte, before), secret...))
			out = append(out, inner[(before*8+5)/6:(before+len(secret))*8/6])
		}
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}
