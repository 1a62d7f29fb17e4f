// Package hooks tells the webhooks of tenants what happens to their collections, as the Standard Webhooks specification says
// (https://www.standardwebhooks.com). Messages are made from the log of a collection by a job of each webhook and
// collection, in order and at least once: one that fails holds only those that follow it there.
//
// It imports memory, tenant, and the leaves outbound and seal. Package api calls Service to keep webhooks, package worker
// calls Run.
package hooks
