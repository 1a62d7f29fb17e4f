package memory_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// C262: an id or a key that holds a secret is refused, unless secrets are kept; ids as other systems make them are not.
func TestScreenKey(t *testing.T) {
	t.Parallel()
	token := "ghp_" + "aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vWaB3dE5f"
	for key, secret := range map[string]bool{
		token: true, "m-" + token: true, "password=Tr0ub4dor!": true, "postgres://bob:s3cretpw@db/x": true,
		"": false, "m-17": false, "0198c1de-7d2f-7c3a-9b60-6a1f0f0e8a11": false, "4111111111111111": false, "chatcmpl-9xKq2Vb7T1mN3pR5sW8yZ0aB": false,
		"msg_01HZX3YV9K2Q4R6S8T0VWXYZ12": false, "wamid.HBgLMTU1NTU1NTU1NTUVAgARGBI5QTNDQTVCM0Q0Q0Q2RTY3RTcA": false, "1699999999.123456": false,
		"<CAF=9x1kz+7Qd3@mail.example.com>": false, "d41d8cd98f00b204e9800998ecf8427e": false,
	} {
		for _, mode := range []memory.Secrets{memory.SecretsRedact, memory.SecretsRefuse, memory.SecretsKeep} {
			c := memory.Collection{PolicyConfig: json.RawMessage(`{"secrets": "` + string(mode) + `"}`)}
			err := c.ScreenKey("id", key)
			if want := secret && mode != memory.SecretsKeep; want != fault.Is(err, fault.Invalid) || err != nil && strings.Contains(err.Error(), key) {
				t.Errorf("%s: %q: %v", mode, key, err)
			}
		}
	}
}

// C262: what was redacted is known as such.
func TestRedacted(t *testing.T) {
	t.Parallel()
	c := memory.Collection{}
	n := memory.Note{Content: "Remember: my password is hunter2x9, this is important!"}
	if _, err := c.ScreenNote(t.Context(), &n); err != nil || !memory.Redacted(n.Content) || memory.Redacted("It was redacted.") {
		t.Errorf("%q, %v", n.Content, err)
	}
}
