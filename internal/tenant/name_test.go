package tenant_test

import (
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func TestCheckName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "0", "default", "team-1.memory_x", strings.Repeat("a", 128), "0190a5e0", "a--", "a.."} {
		if err := tenant.CheckName("name", name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{
		"", "A", "-a", ".a", "_a", "a b", "a/b", "é", "a\x00", "a\n", "\xff", strings.Repeat("a", 129), "a:b", "a%",
		"0190a5e0-0000-7000-8000-000000000001", "0190a5e0000070008000000000000001",
	} {
		err := tenant.CheckName("agent", name)
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "agent") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestCheckDisplayName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "Ada Lovelace", "李明", "👩‍💻", strings.Repeat("é", 256)} {
		if err := tenant.CheckDisplayName("display_name", name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"\x00", "a\nb", "\xff", "\u0085", strings.Repeat("é", 257)} {
		if err := tenant.CheckDisplayName("display_name", name); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
