package when

import "time"

// nextTo gives the weekday nearest before or after an anchor, and not in it.
func nextTo(anchor span, d time.Weekday, side string) span {
	t, step := anchor.from.AddDate(0, 0, -1), -1
	if side == "after" {
		t, step = anchor.to, 1
	}
	for t.Weekday() != d {
		t = t.AddDate(0, 0, step)
	}
	return around(t, day)
}

// unitNextTo gives the unit before or after an anchor, or the one that holds
// its beginning. It touches the anchor, but for a weekend, which is the nearest.
func unitNextTo(anchor span, u unit, side string) span {
	switch side {
	case "before":
		if u != weekend {
			return span{shift(anchor.from, -1, u), anchor.from, u}
		}
		s := around(anchor.from, weekend)
		for s.to.After(anchor.from) {
			s = around(s.from.AddDate(0, 0, -7), weekend)
		}
		return s
	case "after":
		if u != weekend {
			return span{anchor.to, shift(anchor.to, 1, u), u}
		}
		s := around(anchor.to, weekend)
		if s.from.Before(anchor.to) {
			s = around(s.to, weekend)
		}
		return s
	}
	return around(anchor.from, u)
}
