// Package mem0 answers the calls of mem0's own clients and of programs that were written for mem0's
// open-source server, from the services that the routes under /v1 use.
//
// The contract is api/mem0.yaml. Package api mounts its operations at /mem0 with the same
// authentication, limits and checks as its own, and calls a handler of [Service] for each. This
// package translates: ids of users, agents, apps and runs into collections and attributes, mem0's
// filters into ours, notes into memories, jobs into events. It has no routes, no store and no model,
// and knows HTTP only by the statuses of its answers.
package mem0
