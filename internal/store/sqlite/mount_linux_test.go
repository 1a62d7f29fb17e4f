package sqlite

import (
	"strings"
	"syscall"
)

// mount mounts a file system in memory, for which a process needs to be root.
func mount(dir, options string) error {
	flags := uintptr(0)
	if rest, ok := strings.CutPrefix(options, "remount,"); ok {
		flags, options = syscall.MS_REMOUNT, rest
	}
	if rest, ok := strings.CutPrefix(options, "ro,"); ok {
		flags, options = flags|syscall.MS_RDONLY, rest
	}
	return syscall.Mount("tmpfs", dir, "tmpfs", flags, options)
}

func unmount(dir string) error { return syscall.Unmount(dir, syscall.MNT_DETACH) }
