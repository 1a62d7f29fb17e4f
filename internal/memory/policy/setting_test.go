package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// A setting that does not exist is refused with those that do.
func TestUnknownSettingNamesTheOthers(t *testing.T) {
	t.Parallel()
	type constants struct{ Gate float64 }
	all := []policy.Setting[constants]{policy.NumberSetting("gate", "", 0, 1, func(c *constants) any { return &c.Gate })}
	_, err := policy.ParseSettings(json.RawMessage(`{"gates": 1}`), constants{}, all)
	if err == nil || !strings.Contains(err.Error(), "policy_config.gates: unknown setting; the policy has gate, secrets") {
		t.Error(err)
	}
}
