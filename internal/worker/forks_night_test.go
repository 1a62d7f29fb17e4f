//go:build night

package worker_test

// As by day. A poll does not list all collections then.
const forks, polled = 300, 4 * 300
