//go:build !night

package worker_test

// forks is how many forks wait beside others, and polled after how many claims a job among them has its turn that only a poll finds:
// the lanes that are kept in memory, and those under way.
const forks, polled = 60, 64 + 2
