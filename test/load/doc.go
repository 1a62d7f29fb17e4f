// Command load measures what one tenant's flood does to the others.
//
// It starts a gateway (with --engine servers a worker too, over the servers that the environment
// names) and a model that answers immediately, and acts as many tenants with some agents each: adds,
// searches, contexts, messages. It runs twice: without a flood, and while one more tenant sends adds,
// bulks, searches, forks and chats as fast as it can. The flood and the model are processes of the lowest priority:
// they stand for other machines. The measured clients share the CPUs with the processes
// under load, so it also measures how long an fsync of a file beside them and an empty request take: no product
// is faster than these. It prints the latencies of the others in both
// runs, and fails when a p99 with the flood is over --most times the p99 without it. With --short it runs
// the flood only, and fails when a request fails or an agent gets no answer, however long it took. It talks
// to the loopback only, and ends by itself.
//
// It depends on nothing of the product but its binaries and its HTTP API.
package main
