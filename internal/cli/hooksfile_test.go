package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func oursFor(user string) map[string]string {
	return map[string]string{
		eventPrompt: "/opt/bin/slipbox hook claude-code recall --user " + user,
		eventStop:   "/opt/bin/slipbox hook claude-code capture --user " + user + " --policy mem0",
	}
}

// Hooks come and go, and everything else in the settings keeps its order, its numbers and its text.
func TestHooksKeepOtherSettings(t *testing.T) {
	t.Parallel()
	const settings = `{
    "zoom": 1.50, "model": "a<b>&c",
    "hooks": {
        "Stop": [{"matcher": "", "hooks": [{"type": "command", "command": "say done"}]}],
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "audit slipbox"}]}]
    },
    "big": 12345678901234567890
}
`
	for name, before := range map[string]string{"empty": "", "an object": "{}\n", "settings": settings} {
		installed, err := editHooks([]byte(before), "claude-code", oursFor("nora"))
		if err != nil {
			t.Fatal(name, err)
		}
		for _, want := range oursFor("nora") {
			if strings.Count(string(installed), want) != 1 {
				t.Errorf("%s: %q is not once in\n%s", name, want, installed)
			}
		}
		again, err := editHooks(installed, "claude-code", oursFor("nora"))
		if err != nil || !bytes.Equal(again, installed) {
			t.Errorf("%s: a second installation changes it (%v):\n%s", name, err, again)
		}
		other, err := editHooks(installed, "claude-code", oursFor("otto"))
		if err != nil || strings.Count(string(other), "slipbox hook") != 2 || strings.Contains(string(other), "nora") {
			t.Errorf("%s: an installation for another user (%v):\n%s", name, err, other)
		}
		removed, err := editHooks(other, "claude-code", nil)
		if err != nil || strings.Contains(string(removed), "slipbox hook") {
			t.Errorf("%s: removed (%v):\n%s", name, err, removed)
		}
		var want, got any
		if before == "" {
			before = "{}"
		}
		if json.Unmarshal([]byte(before), &want) != nil || json.Unmarshal(removed, &got) != nil || !equalJSON(t, want, got) {
			t.Errorf("%s: what is left:\n%s", name, removed)
		}
		if name != "settings" {
			continue
		}
		for _, text := range []string{`1.50`, `"a<b>&c"`, `12345678901234567890`, "\n    \"zoom\""} {
			if !strings.Contains(string(installed), text) {
				t.Errorf("%q is lost:\n%s", text, installed)
			}
		}
		at := func(text string) int { return bytes.Index(installed, []byte(text)) }
		if at("zoom") > at("hooks") || at("Stop") > at("PreToolUse") {
			t.Errorf("the order is lost:\n%s", installed)
		}
		if unchanged, err := editHooks([]byte(settings), "codex", nil); err != nil || string(unchanged) != settings {
			t.Errorf("removing what is not there: %v\n%s", err, unchanged)
		}
	}
}

func equalJSON(t *testing.T, a, b any) bool {
	t.Helper()
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}

// A hook of slipbox beside one of another program in one group goes alone.
func TestHooksShareAGroup(t *testing.T) {
	t.Parallel()
	const settings = `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"say done"},{"type":"command","command":"'/my bin/slipbox' hook claude-code capture"},{"type":"command","command":"slipbox hook codex capture"}]}]}}`
	got, err := editHooks([]byte(settings), "claude-code", nil)
	if err != nil || strings.Contains(string(got), "my bin") || !strings.Contains(string(got), "say done") || !strings.Contains(string(got), "hook codex capture") {
		t.Errorf("%v\n%s", err, got)
	}
}

// Settings that cannot be understood are refused with the place, and not changed.
func TestBrokenSettingsAreRefused(t *testing.T) {
	t.Parallel()
	for settings, want := range map[string]string{
		`{"hooks": `:                            "the file is not valid JSON",
		`[]`:                                    "the file is not an object",
		`{} {}`:                                 "the file has something after its end",
		`{"hooks": []}`:                         "hooks is not an object",
		`{"hooks": {"Stop": {}}}`:               "hooks.Stop is not an array",
		`{"hooks": {"Stop": ["x"]}}`:            "hooks.Stop is not an object",
		`{"hooks": {"Stop": [{"hooks": "x"}]}}`: "hooks.Stop.hooks is not an array",
		"// a comment\n{}":                      "the file is not valid JSON",
	} {
		if got, err := editHooks([]byte(settings), "claude-code", oursFor("nora")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\n%s", settings, err, got)
		}
	}
}

// A path with spaces or quotes stays one word of a shell.
func TestShellWord(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"/usr/bin/slipbox": "/usr/bin/slipbox", "nora@example.com": "nora@example.com", "": "''",
		"/my bin/slipbox": "'/my bin/slipbox'", "o'neil; rm -rf /": `'o'\''neil; rm -rf /'`, "日本": "'日本'",
	} {
		if got := shellWord(in); got != want {
			t.Errorf("%q: %s", in, got)
		}
	}
}
