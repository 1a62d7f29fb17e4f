// Package outbound sends requests to addresses that a tenant chose. Such an address is a way into the network of the
// operator, so a request goes only to a host that the tenant may reach, and only to a public address, unless the
// operator allows the host. The address is checked when it is dialed, so a name that resolves to another address
// later changes nothing. No redirect is followed, there is no proxy, and answers are not read.
//
// It imports no other package of this module but fault. internal/memory/hooks calls it.
package outbound
