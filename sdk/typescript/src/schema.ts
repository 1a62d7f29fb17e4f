// Code generated from api/openapi.yaml by generate.js. DO NOT EDIT.

export interface paths {
    "/v1/auth/token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Exchange an API key for a short-lived JWT
         * @description The credential is an API key. The token acts for an agent (the key's own, or the one
         *     in the request if the key has none) and never has wider scopes than the key. It
         *     expires within 10 seconds when the key is revoked or the tenant is suspended.
         */
        post: operations["createToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/jwks.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Public keys for verifying tokens */
        get: operations["getJWKS"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/api-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List API keys */
        get: operations["listAPIKeys"];
        put?: never;
        /**
         * Create an API key
         * @description The secret is in this answer only. Scopes and agent are never wider than the caller's.
         */
        post: operations["createAPIKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/api-keys/{api_key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke an API key
         * @description The caller needs every scope of the key; a key that is wider than the caller's is 403,
         *     and the answer names the scope that is missing.
         */
        delete: operations["deleteAPIKey"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/api-keys/{api_key}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replace an API key
         * @description Creates a key with the same scopes, agent and expiry. The old key stays valid for the
         *     overlap. As for revoking it, the caller needs every scope of the key.
         */
        post: operations["rotateAPIKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/api-keys/{api_key}/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revoke an API key
         * @description Like DELETE, for clients that cannot send it.
         */
        post: operations["revokeAPIKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/oauth/grants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what programs may do
         * @description A grant is made when the holder of an API key lets a program connect to /mcp (OAuth). It ends with its key, when it is
         *     deleted, when one of its refresh tokens is used twice, and when it is not used for 90 days.
         */
        get: operations["listGrants"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/oauth/grants/{grant}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * End what a program may do
         * @description Its tokens are refused at once, by other gateways within seconds.
         */
        delete: operations["deleteGrant"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/agents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List agents */
        get: operations["listAgents"];
        put?: never;
        /**
         * Create an agent
         * @description An agent is also created when a token, key, collection or clone first names it.
         */
        post: operations["createAgent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/agents/{agent}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get an agent */
        get: operations["getAgent"];
        put?: never;
        post?: never;
        /**
         * Delete an agent with its collections and keys
         * @description Besides `admin` the caller needs `collections:write`, and every scope of the agent's
         *     keys that still work; otherwise it is 403, and the answer names the scope that is
         *     missing.
         */
        delete: operations["deleteAgent"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tenants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List tenants */
        get: operations["listTenants"];
        put?: never;
        /** Create a tenant */
        post: operations["createTenant"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tenants/{tenant}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a tenant */
        get: operations["getTenant"];
        put?: never;
        post?: never;
        /** Delete a tenant and everything it owns */
        delete: operations["deleteTenant"];
        options?: never;
        head?: never;
        /** Change the limits and the allowed hosts of a tenant */
        patch: operations["patchTenant"];
        trace?: never;
    };
    "/v1/tenants/{tenant}/suspend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Suspend a tenant
         * @description The tenant's keys and tokens are refused (401) within 10 seconds.
         */
        post: operations["suspendTenant"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tenants/{tenant}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Resume a suspended tenant */
        post: operations["resumeTenant"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What the tenant stores and has used */
        get: operations["getUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the audit log */
        get: operations["listAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/policies": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the policies
         * @description A policy is a memory system: it decides what a collection does with new content. A
         *     collection's policy is chosen when it is created. `policy_config` overrides its
         *     constants and is validated against `schema`.
         */
        get: operations["listPolicies"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List collections */
        get: operations["listCollections"];
        put?: never;
        /**
         * Create a collection
         * @description An existing name is 409, unless `extend` is true: then the existing collection is
         *     returned, and another `policy` or `embedder` than it has is refused.
         */
        post: operations["createCollection"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/by": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a collection by the ids of an application
         * @description The collection with exactly these ids. At least one is required. Other operations accept `by` and the ids
         *     in the same way.
         */
        get: operations["findCollection"];
        put?: never;
        post?: never;
        /**
         * Forget a user
         * @description Deletes every collection that the key reaches and that has all of these ids of an application, and perhaps
         *     others, with all versions of its notes. They are 404 from now on; jobs delete their rows. The answer says
         *     what was in them, and names these jobs: each is 404 when the rows are gone. `wait=removed` answers then, within
         *     limits. When a fork that has other ids reads one of them, nothing is deleted (409), unless `forks` says what to
         *     do. What cannot be deleted now is in `kept`, with the reason: the fork of another agent, a block
         *     that others show.
         */
        delete: operations["forgetExternal"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a collection
         * @description Counts by kind, head revision, lineage and index state.
         */
        get: operations["getCollection"];
        put?: never;
        post?: never;
        /**
         * Delete a collection
         * @description The collection is 404 from now on and its name is free; a job deletes its rows. A
         *     collection with forks is 409 unless they are made independent first.
         */
        delete: operations["deleteCollection"];
        options?: never;
        head?: never;
        /**
         * Change the settings of a collection
         * @description JSON Merge Patch: `null` clears an optional field; `policy_config` is merged by the same rule.
         */
        patch: operations["patchCollection"];
        trace?: never;
    };
    "/v1/collections/{collection}/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List or follow the changes of a collection
         * @description The changesets after the revision `after`, oldest first: those that the collection has inherited up to its fork point,
         *     and its own. Below the floor the answer is 410, beyond the head 422: the collection was restored to an earlier state, so read
         *     from 0 again. A link that goes or comes with one of its notes is no change of its own.
         *
         *     With `Accept: text/event-stream` the answer is a stream of events named `change`, whose data is a `Change` and whose
         *     id is its revision: those that are there, then each new one. `Last-Event-ID` takes the place of `after`, so that a stream that
         *     was cut is continued without a gap. It ends when the collection is deleted, and with an `error` event (`Problem`) when the
         *     credential is no longer accepted.
         */
        get: operations["listChanges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/clone": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Fork or copy a collection
         * @description A `fork` copies nothing: it reads its parent at a revision and has its own log, so
         *     neither side sees later writes of the other. A `copy` is filled by a job with what is
         *     visible now. Without `name` the clone is called `<source>__clone`. It gets copies of the blocks that are
         *     attached to its source, unless `blocks` is `share`.
         */
        post: operations["cloneCollection"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/diff": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What differs between two views of one lineage
         * @description What leads from `against` to the collection: notes and links that were added, removed or changed, in the order of ids.
         *     It reads what the two do not share, so its cost does not grow with their base. Both are fork and base, two forks, or
         *     one collection at two revisions; others are 422. Later pages read the same revisions.
         */
        get: operations["diffCollection"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/merge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take over what another collection of the lineage has changed
         * @description One changeset brings what `from` has changed since the fork point, or since the last merge between the two. Fields are
         *     merged one by one: texts by lines, tags, keywords and links as sets, attributes by key. Where both changed one field to
         *     different values, `strategy` decides; with `fail` the answer is 409 with `conflicts`, and nothing is written. Merging
         *     again changes nothing. With `review`, changes become a review, which may be approved in part; asking again returns it, and when
         *     the changes are others, a new one takes its place. A shared base needs
         *     `base:write`, unless `review` is set without `approve_from`.
         */
        post: operations["mergeCollection"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/rollback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Return to an earlier revision
         * @description One changeset, after which the collection shows what it showed then. What came between stays in the log: a rollback
         *     to just before takes it back. Exactly one of `revision`, `at` and `snapshot` is given.
         */
        post: operations["rollbackCollection"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/snapshots": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Named revisions of a collection */
        get: operations["listSnapshots"];
        put?: never;
        /** Name a revision */
        post: operations["createSnapshot"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/snapshots/{snapshot}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete the name of a revision
         * @description The revision stays.
         */
        delete: operations["deleteSnapshot"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Import notes with their ids, links, history and counters, and messages
         * @description One note or message per line. A note with an `id`, in our format or with the field names of the public
         *     A-MEM code, is kept with its id, times, links, history and usage counters. A line with a `role` is a message as
         *     in `POST .../messages` (`id`, `role`, `name`, `content`, `session`, `occurred_at`, `expires_at`, `ttl_seconds`, `attributes`), and a note
         *     without an `id` is a new one: the policy learns from both, unless the line has `infer: false`. Links may be places
         *     of lines, from 0. A line that was imported before adds nothing. The results of the lines are at `/v1/jobs/{job}/results`.
         */
        post: operations["importNotes"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export a collection
         * @description All notes of the collection at one revision. As `jsonl` one `ImportNote` per line, with ids, keys, times with their offsets, links,
         *     usage and what it was derived from: an import into an empty collection of the same policy gives the same notes and links.
         *     As `markdown` a section per note, for people. Past versions and settings are not in it. The answer is sent while it is read; one
         *     that breaks off is not whole.
         */
        get: operations["exportCollection"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Import a history of another program
         * @description A file or a zip of ChatGPT, Claude, WhatsApp, Slack, Telegram, Markdown, mem0, MemoryBank, MemoryOS, Letta, or lines of JSON. What it is, is
         *     recognized; what is not recognized is refused. The answer says what was understood: people, conversations, dates and the first messages.
         *     With `dry_run=true` nothing is imported. A message that was imported before is not imported again.
         */
        post: operations["importHistory"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/consolidate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Consolidate, or rebuild the index and stale vectors from the notes
         * @description Where the policy consolidates (`layered`), its cycle runs as a job of kind `policy`, whose
         *     result has the counts. In other collections the index and stale vectors are made again.
         */
        post: operations["consolidateCollection"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/reembed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change the collection to another embedder
         * @description A job embeds all visible notes, including inherited ones, and then switches the
         *     collection; until then searches use the old vectors. The base and other forks keep
         *     their embedder. An interrupted job continues where it was. With the collection's
         *     present embedder, only missing vectors are made. While such a job waits or runs, it is
         *     the answer; `409` for another embedder.
         */
        post: operations["reembedCollection"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/refresh": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Let a model take up what was answered without one
         * @description For a collection that started without a model. A job lists what has `analyst: heuristic`, and enqueues that
         *     its events are decided again: notes of `amem` are described and linked again, except for what their writer
         *     supplied; exchanges of `mem0` and `mem0g` are extracted from again, and only a decision that names a fact
         *     changes or retires it; summaries, profiles and sessions of `mem0`, `memorybank` and `memoryos`, and the
         *     summary of the messages that have left the window of `memgpt`, are written again. What `layered` keeps is
         *     not taken up. The job ends when that work has ended. While such a job waits or runs, it is the answer;
         *     repeating it later takes up only what is left. `409` where the collection has no model.
         */
        post: operations["refreshCollection"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/costs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Cost of a collection's model calls
         * @description Calls and tokens by purpose, and their average per add and per answer. An add is one
         *     change that added notes or messages: a call that adds notes or messages, or up to 500
         *     lines of a bulk. An answer is one model call for a chat. Calls that judge search
         *     results (`relevance`) belong to answers, all others to adds. Embeddings are only
         *     counted per tenant (`/v1/usage`). A fork counts its own calls. A call is counted a few
         *     seconds after it was made.
         */
        get: operations["getCosts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List or search messages
         * @description The messages of the conversation by event time. With `query`, the messages that match
         *     it best, best first, on one page of at most `limit`; `order` and `cursor` cannot be
         *     combined with it.
         */
        get: operations["listMessages"];
        put?: never;
        /**
         * Add messages of a conversation
         * @description All messages are written in one change, each as a note of kind `message`. They can be
         *     found by words at once, and by meaning too when the embedder runs in the process. Jobs of the policy process them; `wait=evolved` waits for the
         *     last job, for at most 25 seconds, and not at all when more than one job of earlier
         *     requests is ahead in the collection. The answer then has `learned`.
         *
         *     Messages form exchanges. A new exchange begins where a user speaks after an assistant,
         *     or where the session changes. Assistant messages at the start of a request belong to
         *     the last exchange of their session if that has no answer yet. Nothing is learned from
         *     messages of systems, developers and tools, nor from messages that are marked
         *     `recalled`.
         *
         *     A message with an `id` is written once. The same id, role and content again returns
         *     the existing note; other content under the id is 409. Without ids, an exchange of which
         *     every message is there already (`on_duplicate`) is not written again.
         */
        post: operations["addMessages"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/remember": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Remember one item in the layers
         * @description Stores an item at once and says which layer holds it, and which does not and why. All layers
         *     are asked unless `layers` names some. Without `role` the importance follows the rules of
         *     items, with it those of a chat; `importance` replaces both. An item below the threshold does
         *     not become an episode. What a user states becomes triples; one that contradicts another of the
         *     same subject and relation is reported. Only policies with layers (`layered`) have this; others
         *     are 422. A repeated request (`Idempotency-Key`) answers what was stored, without what was
         *     skipped.
         */
        post: operations["remember"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/recall": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Recall from the layers
         * @description Each layer ranks its items by a formula of its own, which is shown in `explain`. With `layer`
         *     the answer has `items` of that layer. Without, it has one list for each layer: `k` episodes,
         *     and `k/3` but at least 3 items of the working and the semantic layer. `combined` answers one
         *     list: scores are made comparable, each text occurs once, and of equal scores knowledge comes
         *     first, then episodes. `aim` says which layer answers the question best, if one does. Each item
         *     that is answered counts as accessed once. Only policies with layers (`layered`) have this;
         *     others are 422.
         */
        post: operations["recallLayers"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/layers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** How full the layers are */
        get: operations["listLayers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List sessions
         * @description Sessions of the middle tier, which hold pages of exchanges by theme. Heat is computed when they are read. Only
         *     policies with tiers (`memoryos`) have sessions; others are 422.
         */
        get: operations["listSessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/sessions/{session}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a session
         * @description The session, and its pages, oldest first.
         */
        get: operations["getSession"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/knowledge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List knowledge
         * @description What was learned of the user and of what the assistant did, one fact for each note. Policies without such knowledge answer an empty list.
         */
        get: operations["listKnowledge"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/tiers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * How full the tiers are
         * @description Only policies with tiers (`memoryos`) have this; others are 422.
         */
        get: operations["getTiers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/moves": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Why something moved
         * @description Why each exchange and each session was moved, merged, analyzed or evicted, newest first. A page of the answer may
         *     have more than `limit` moves: those of one decision are together. Moves are kept as long as the results of jobs.
         */
        get: operations["listMoves"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/facts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List facts as triples
         * @description Relations between entities, as a policy with a graph (`mem0g`, `layered`) stores them; other
         *     collections have none. A fact that is no longer true is kept with the time at which it
         *     ended. `valid_at` selects by event time: what was true then. `as_of` selects by
         *     revision: what the collection contained then.
         */
        get: operations["listFacts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/forget": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Forget faded notes
         * @description Retention is exp(-t / (tau * S)), where t is the days since a note was last recalled
         *     and S its strength, which grows with every recall. `threshold` forgets notes whose
         *     retention is below `floor`; `random` forgets each note with a probability of 1 minus
         *     its retention. Forgotten notes are deleted in one change and can be restored, one by
         *     one (`restore`) or all at once. A `dry_run` only reports what would be deleted. Only
         *     policies that forget (`memorybank`) have this; others are 422.
         *
         *     With `erase`, each of them is erased as by `DELETE …/notes/{note}?erase=true`: nothing can be restored, summaries are made again
         *     without them, and what only they support goes too. One call erases up to 100; a call that fails can be repeated. In a fork,
         *     notes of the collection that it was forked from are a Conflict, which erases nothing.
         */
        post: operations["forget"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/summaries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List summaries */
        get: operations["listSummaries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/profile": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Profile of the person
         * @description The portrait that the policy has written, how to answer this person, what each day
         *     showed, and what callers or an import said about the person. Parts that do not exist yet are
         *     absent.
         */
        get: operations["getProfile"];
        /**
         * Say who the person is
         * @description Replaces `meta`: what callers say about the person and the companion. Contexts show it, and the
         *     portrait draws on it. What the policy has written stays.
         */
        put: operations["putProfile"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/bank": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export as a MemoryBank document
         * @description Messages, daily summaries and portraits in the JSON format that MemoryBank publishes,
         *     at most 64 MiB; a larger document is `409`.
         */
        get: operations["exportBank"];
        put?: never;
        /**
         * Import a MemoryBank document
         * @description Accepts the JSON format that MemoryBank publishes, at most 32 MiB and 50,000 turns and
         *     texts: one person with `history` by day, and optionally `summary`, `personality`,
         *     `overall_history`, `overall_personality` and `meta_information`. What exists already
         *     is not written again, so a document can be sent twice.
         */
        post: operations["importBank"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/agent-file": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export as an agent file
         * @description Blocks, messages, summary, tool rules and names of tools of a collection with the policy
         *     `memgpt`, in the JSON format that Letta publishes (`.af`), at most 64 MiB; a larger memory is
         *     `409`. What Letta has no place for, such as passages, is in the agent's `metadata.slipbox`,
         *     with a list of what is not carried; an import brings it back.
         */
        get: operations["exportAgentFile"];
        put?: never;
        /**
         * Import an agent file
         * @description Fills a collection with the policy `memgpt` from an agent file (`.af`) that Letta or an export
         *     wrote, in the present form or the older one with `core_memory`, at most 32 MiB and 100,000
         *     messages. The whole file is checked first. Blocks and tool rules hold at once; a job imports
         *     messages and passages, with a result per line. A file can be sent twice: what exists
         *     already stays as it is. Source code of tools is never run, and secrets are not stored:
         *     `not_carried` lists what was left out and why.
         */
        post: operations["importAgentFile"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/blocks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the blocks
         * @description Blocks are short texts that an agent sees in every prompt, each under a label. They are notes
         *     of the kind `block`, of a collection with any policy; one with the policy `memgpt` begins with
         *     `human` and `persona`. The order is that of prompts.
         */
        get: operations["listBlocks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/blocks/attach": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Attach a stand-alone block
         * @description The collection shows the block from its next context on, under the label of the block; a label that is
         *     taken there is 409. In the mode `rw` every edit of the block is seen by all collections that show it, and the
         *     caller needs `base:write`; in the mode `ro` this collection only reads it. Attaching it again changes the mode.
         */
        post: operations["attachBlock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/blocks/{label}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a block */
        get: operations["getBlock"];
        /**
         * Create or change a block
         * @description Fields that are absent keep the value that the block has, or get their default in a new one. A
         *     value over the limit is 422 with `current`, `requested` and `limit` in characters. A read-only
         *     block is changed only by a request that sets `read_only`; others are 403. With `If-Match` the
         *     block must still be that version (412).
         */
        put: operations["putBlock"];
        post?: never;
        /**
         * Delete a block
         * @description A read-only block is 403. The note of the block, with its `id`, can be restored.
         */
        delete: operations["deleteBlock"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/blocks/{label}/append": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Add a line to a block
         * @description A newline precedes the text unless the block is empty. Over the limit: 422 with `current`, `requested` and `limit`.
         */
        post: operations["appendBlock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/blocks/{label}/replace": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replace a text in a block
         * @description The text must occur exactly once; otherwise 422 with `matches`, the number of occurrences (counted up to 1,000).
         */
        post: operations["replaceBlock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/blocks/{label}/insert": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Insert lines into a block */
        post: operations["insertBlock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/blocks/{label}/undo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Undo the last edit of a block
         * @description The block becomes what it was before its last edit, value, description, limit and all. Every edit can be undone, back to
         *     the first version. When there is nothing to undo: 409.
         */
        post: operations["undoBlock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/blocks/{label}/redo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Redo the last undone edit of a block
         * @description An edit after an undo ends what can be redone. When there is nothing to redo: 409.
         */
        post: operations["redoBlock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/blocks/{label}/detach": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Detach a block
         * @description The collection no longer shows the block, which stays as it is. A block of the collection's own is 409.
         */
        post: operations["detachBlock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/folders": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the folders */
        get: operations["listFolders"];
        put?: never;
        /**
         * Create a folder
         * @description A folder holds files that agents search and open. It is a collection of the policy `none`; its `embedder` is that of
         *     its files.
         */
        post: operations["createFolder"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/folders/{folder}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a folder */
        get: operations["getFolder"];
        put?: never;
        post?: never;
        /**
         * Delete a folder with its files
         * @description While it is attached: 409, with those of the `collections` that the caller reaches.
         */
        delete: operations["deleteFolder"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/folders/{folder}/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the files of a folder */
        get: operations["listFiles"];
        put?: never;
        /**
         * Upload a file
         * @description A job reads the text of the file (.txt, .md, .html, .csv, .docx, .pdf; at most 50 MiB), in a process of its own that is
         *     ended when it takes too much time or memory, and cuts it into passages of at most 300 tokens. `state` is `ready` when
         *     all of it is stored; when it cannot be read, the job fails and `error` says why. A name that the folder has is 409, or 200
         *     where the bytes are the same.
         */
        post: operations["uploadFile"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/folders/{folder}/files/{file}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a file */
        get: operations["getFile"];
        put?: never;
        post?: never;
        /**
         * Delete or erase a file
         * @description The file and its text are no longer listed or found. With `erase`, no version of them remains, in forks of the folder too.
         */
        delete: operations["deleteFile"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the files of a collection */
        get: operations["listCollectionFiles"];
        put?: never;
        /**
         * Add a file to a collection
         * @description A collection of any policy. A job reads the text of the file (.txt, .md, .html, .csv, .docx, .pdf; at most 50 MiB), in a
         *     process of its own, and stores it as notes of kind `passage`, of at most 300 tokens each, whose `provenance` names the
         *     file and whose `attributes` its name, page and line. Searches, contexts and chats find and cite them; no policy derives
         *     anything from them. The same bytes again are the file that is there (200), unless it could not be read: then a job reads
         *     it again. A name whose file has other bytes is 409.
         */
        post: operations["addFile"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/files/{file}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a file of a collection */
        get: operations["getCollectionFile"];
        put?: never;
        post?: never;
        /**
         * Delete or erase a file of a collection
         * @description The file and its text are no longer listed or found. With `erase`, no version of them remains, in forks of the collection too.
         */
        delete: operations["deleteCollectionFile"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/folders/attach": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Attach a folder
         * @description The tools of the collection's agents search and open its files.
         */
        post: operations["attachFolder"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/folders/detach": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Detach a folder */
        post: operations["detachFolder"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/blocks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the stand-alone blocks */
        get: operations["listSharedBlocks"];
        put?: never;
        /**
         * Create a stand-alone block
         * @description A block of no agent: collections show it when it is attached to them. It is a note of the shared collection
         *     `slipbox.blocks`, which is made with the first one; changing it takes `base:write`. Several may have one label.
         */
        post: operations["createSharedBlock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/blocks/{block}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a stand-alone block */
        get: operations["getSharedBlock"];
        put?: never;
        post?: never;
        /**
         * Delete a stand-alone block
         * @description While collections show it: 409, with those of them in `collections` that the caller reaches. A read-only block is 403.
         */
        delete: operations["deleteSharedBlock"];
        options?: never;
        head?: never;
        /**
         * Change a stand-alone block
         * @description Fields that are absent keep their value. The rules are those of a PUT of a block of a collection. The label
         *     changes only while no collection shows the block (409, with `collections`).
         */
        patch: operations["patchSharedBlock"];
        trace?: never;
    };
    "/v1/blocks/{block}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the versions of a stand-alone block */
        get: operations["getSharedBlockHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/blocks/{block}/undo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Undo an edit of a stand-alone block
         * @description With nothing to undo: 409. A read-only block is 403.
         */
        post: operations["undoSharedBlock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/blocks/{block}/redo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Redo an edit of a stand-alone block
         * @description With nothing to redo: 409. A read-only block is 403.
         */
        post: operations["redoSharedBlock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/tools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the tools of an agent
         * @description In the form that model APIs take: send `items` as `tools`. The memory tools come first, then those of the tenant's own
         *     that are attached. Only policies with tools (`memgpt`) have this; others are 422.
         */
        get: operations["listTools"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the tenant's webhooks */
        get: operations["listWebhooks"];
        put?: never;
        /**
         * Create a webhook
         * @description An address that is told of changes: for each changeset and event a POST with a JSON body (`type`, `timestamp`, `data` with
         *     `collection`, `revision`, `actor`, `job`, `cause`, and the ids of `notes` or the `links`), signed as the Standard Webhooks
         *     specification says (`Webhook-Id`, `Webhook-Timestamp`, `Webhook-Signature`). What notes say is not sent.
         *
         *     Messages of one collection come in order and at least once; a message that is sent again has the same `Webhook-Id`. An answer
         *     other than 2xx within ten seconds is a failure: redirects are not followed, and the body of an answer is not read. A message that fails is sent
         *     again after one second, then with growing pauses up to an hour, and is `dead` a day after its change; those that follow it
         *     in its collection wait. A receiver that answers 410 (gone) is sent nothing more: the message and those that follow are `dead`, until the
         *     webhook is changed, or the newest of them is accepted after `POST …/retry`.
         *
         *     The host must be one of the tenant's `allowed_hosts` or of the operator's `SLIPBOX_ALLOW_HOSTS`; only the latter may have
         *     addresses that are not public, which is checked at each connection. A credential of an agent is refused.
         */
        post: operations["createWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{webhook}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a webhook */
        get: operations["getWebhook"];
        put?: never;
        post?: never;
        /**
         * Delete a webhook
         * @description Its deliveries are deleted with it.
         */
        delete: operations["deleteWebhook"];
        options?: never;
        head?: never;
        /**
         * Change a webhook
         * @description Fields that are absent keep their value; `events: null` means all. With `rotate_secret` the answer has a new `secret`. Messages are signed
         *     with the one before, too, for a day.
         */
        patch: operations["patchWebhook"];
        trace?: never;
    };
    "/v1/webhooks/{webhook}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what was sent to a webhook
         * @description What needs no further try is kept for 30 days.
         */
        get: operations["listDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{webhook}/deliveries/{delivery}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a message once more
         * @description It is made from the log again and sent under the same id, also when it was accepted, without waiting for its turn.
         */
        post: operations["retryDelivery"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the tenant's tools */
        get: operations["listOwnTools"];
        put?: never;
        /**
         * Create a tool
         * @description A tool that the caller runs: its name, what it does, and the schema of its arguments. Once it is attached to a collection, the
         *     agent may call it. A run that calls it stops with the state `requires_action` and names the calls; the caller
         *     runs them and posts what came out (`POST …/runs/{run}/results`), and the run continues. The gateway itself calls nothing.
         */
        post: operations["createOwnTool"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tools/{tool}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a tool */
        get: operations["getOwnTool"];
        put?: never;
        post?: never;
        /**
         * Delete a tool
         * @description While it is attached: 409, with those of the `collections` that the caller reaches. Calls that wait can still be answered.
         */
        delete: operations["deleteOwnTool"];
        options?: never;
        head?: never;
        /**
         * Change a tool
         * @description Fields that are absent keep their value. The name does not change. Calls that wait keep the arguments that they have.
         */
        patch: operations["patchOwnTool"];
        trace?: never;
    };
    "/v1/collections/{collection}/tools/attach": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Attach a tool
         * @description The agents of the collection may call it: it is in their tools and in their context. Tools of the tenant's own have at most
         *     half of the tokens that instructions and memory tools leave of the window (422). Takes `notes:write`, too.
         */
        post: operations["attachTool"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/tools/detach": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Detach a tool
         * @description Takes `notes:write`, too.
         */
        post: operations["detachTool"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/step": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run a tool of an agent
         * @description Runs one tool now, for an agent with a loop of its own. A tool that fails answers 200 with
         *     `ok: false` and the reason, for the model to read; an unknown tool is 422, and so is one that the caller runs. `send_message`
         *     stores the message in the collection. Needs the scope `notes:read` too.
         */
        post: operations["step"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make an agent act
         * @description Stores an event and starts a run that answers it: the model reads its context and calls tools until
         *     it has answered. Runs of a collection are done in the order of their events; one that waits to be tried again
         *     after an error of the model is passed by later ones. With `wait: done`
         *     the answer is the run when it has ended or waits, or as it is after 25 s. A timer or heartbeat with `at`
         *     starts its run then. Without a model, questions are looked up and quoted (`heuristic`). Waiting needs the scope `notes:read` too.
         */
        post: operations["postEvent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/flush": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Evict the oldest messages from the window
         * @description A job evicts the share `evict` of the messages in the window, the oldest ones, and sums them up. It does so only when
         *     the window is as full as `flush` allows, or with `force` at once. The messages stay in recall storage. The job's result has
         *     `evicted`, the number of messages that have left. A flush like one that waits is that one.
         */
        post: operations["flushContext"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/heartbeats/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause an agent's regular heartbeats
         * @description Until then the agent gets none (`policy_config.heartbeat_minutes` says how often it does else), and reads so in its context. Timers and
         *     heartbeats that were posted are not affected. A later pause replaces it; 0 ends it.
         */
        post: operations["pauseHeartbeats"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the runs of an agent
         * @description Newest first, without their steps.
         */
        get: operations["listRuns"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/runs/{run}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a run
         * @description With `Accept: text/event-stream` the answer is a stream of events named `run` whose data is a `Run`: one at once,
         *     and one at each change, until the run has ended or waits. If its event has `stream: true`, what the agent says comes between them
         *     while the model says it: events `delta` with the next piece (`RunDelta`). A `restart` (`RunRestart`) says that the pieces of a
         *     step so far do not count, because the model has failed, is asked again, or thinks and calls other tools. What counts is
         *     the `reply` of the last `run`; pieces may be missing when processes lose touch. An `error` (`Problem`) says that the credential
         *     is no longer accepted.
         */
        get: operations["getRun"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/runs/{run}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a run
         * @description What it has written stays. Nothing is written after it. A run that has ended is 409.
         */
        post: operations["cancelRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/steps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the steps of a run */
        get: operations["listSteps"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/calls": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the tool calls that wait for an answer
         * @description Of all runs in the state `requires_action`, oldest first. They are also reviews (`GET /v1/reviews`), with the call in
         *     `changes[].call`.
         */
        get: operations["listWaitingCalls"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/runs/{run}/results": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer tool calls of a run
         * @description Results of tools that the caller runs, and approvals of those that the gateway runs, in any order and in one request or several.
         *     They are committed together; a job continues the run, which waits again while calls are left. The same answer again changes nothing, another
         *     one to the same call is 409, and so is one to a run that waits no more. Needs the scope `notes:read` too.
         */
        post: operations["postResults"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/chat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer from memory
         * @description Builds a context for the dialogue, has the model answer with it, and returns the
         *     reply. The last message and the reply are stored after the answer was sent, unless
         *     `remember` is false, the caller may not write notes or the tenant has no room for more; `remembered` reports which.
         *     Nothing is learned again from a reply that was written from memories. Without a model
         *     the reply quotes the best hits and says so (`offline`); then only the question is
         *     stored. One process answers at most 64 chats of a tenant at once (`429`).
         *
         *     In the memory of an agent (`memgpt`) a chat that is remembered is a run: the last message is its event,
         *     and the reply is what the agent says. A reply may be empty while the run waits for the caller
         *     (`requires_action`): `run` says which.
         *
         *     With `stream` the answer is a stream of server-sent events: `delta` with a piece of
         *     the reply (`ChatDelta`), then one `done` with a `ChatAnswer`. An error within the
         *     stream is an `error` event with a `Problem`; an error before the first piece is a
         *     problem document as elsewhere. A reply that breaks off is not stored. A stream ends with such an
         *     error when its credential is no longer accepted.
         *
         *     What the user said is stored also when the client leaves before the end of the answer, or the
         *     reply breaks off; only a request that is answered with an error stores nothing. The same
         *     question again on the same day, with nothing said in between, is the same message. With
         *     `Idempotency-Key` an exchange is stored once, and in the memory of an agent a repeated request
         *     follows the same run.
         */
        post: operations["chat"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chat/completions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Chat completions in OpenAI's form
         * @description Compatible with OpenAI's chat completions: an existing client gains memory by changing
         *     its base URL. The context from memory is added behind what the user said last, between
         *     `<slipbox-memory>` marks. Everything else is sent to the model unchanged, including
         *     tools and their calls, and the answer is returned unchanged. Only the policy `layered` bounds
         *     the turns that the model reads: the newest `recent_messages`. With `stream` it is a
         *     stream of server-sent events that ends with `[DONE]`, or with an error if it breaks off or the
         *     credential is no longer accepted.
         *
         *     The collection is named by the header `Slipbox-Collection`, or in `model` after an
         *     `@`, as in `slipbox@my-collection`. The ids of an application name it in the header
         *     `Slipbox-External`, or there too, in the form of a query: `user=nora%40example.com` or
         *     `slipbox@user=nora%40example.com`. A header wins over `model`. Before the `@` is one
         *     of the names of `GET /v1/models`; `slipbox`, or nothing, selects the collection's
         *     model. Other names are passed on where the operator says so (`models: {"*": …}`).
         *
         *     The user's last message and the text that finally answers it are stored after the
         *     answer was sent, if the caller has `notes:write`; of an answer that the client does not
         *     wait for, or that breaks off, the message is, as with `POST …/chat`. Text that a model writes while it
         *     calls tools, and messages of systems and tools, are not stored. Without a model the
         *     answer quotes memory, says so and calls no tool; a request whose `tool_choice` demands a
         *     call, or with JSON as its `response_format`, is then refused with 503 and the code
         *     `model_not_configured`, and `n` must be 1.
         *
         *     The operator limits what is passed on, by settings of the gateway: `n` and `best_of`
         *     (8 unless set), `max_tokens`, `max_completion_tokens` and `n_predict` (131072 unless
         *     set), and the addresses of images and other media, which must be `data:` addresses
         *     unless remote ones are switched on. A request beyond a limit is 422, and `param` names
         *     the field.
         *
         *     Errors have OpenAI's form. Refusals of the model's endpoint are passed on.
         */
        post: operations["createChatCompletion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/responses": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Responses in OpenAI's form
         * @description Compatible with OpenAI's responses. The request is translated to a chat completion,
         *     and the answer back: everything that `POST /v1/chat/completions` says of collections,
         *     models, memory, limits and errors holds here too. With `stream` the answer is a stream
         *     of typed events that ends with `response.completed` or `response.incomplete`, or with
         *     `error` if it breaks off.
         *
         *     Functions are supported as `tools`, with `function_call` and `function_call_output` in
         *     `input`; texts, images and files with their data; `text.format`, `reasoning.effort`.
         *     Refused by name: `previous_response_id`, `conversation`, `prompt`, `store: true`,
         *     `background: true`, tools of OpenAI's own such as `web_search`, ids of files, items of
         *     other types. Fields that are not known are passed on to the model's endpoint.
         *
         *     The gateway keeps no responses. An `item_reference` to a text of one of the last
         *     answers of this process is replaced by it; one to an older text is left out, as memory
         *     has what was said, and one to anything else is refused. Items of type `reasoning` are
         *     left out.
         */
        post: operations["createResponse"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/embeddings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Embed texts, in OpenAI's form
         * @description Compatible with OpenAI's embeddings. `slipbox` is the embedder of new collections in
         *     the gateway's settings, usually a local encoder; there is no other `model`. Nothing is
         *     stored.
         */
        post: operations["createEmbeddings"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models/{model}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a model for chats
         * @description One of the models that `GET /v1/models` lists, or one that the operator passes on by any
         *     name. What follows the `@` names a collection and is not looked up.
         */
        get: operations["getModel"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the models for chats
         * @description The models in the gateway's settings, in the form of OpenAI's list. No other model is
         *     used, unless the operator passes other names on.
         */
        get: operations["listModels"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/notes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List notes */
        get: operations["listNotes"];
        put?: never;
        /**
         * Add a note
         * @description The note can be found by words at once, and by meaning too when the embedder runs in
         *     the process. Its policy runs afterwards, in the job of the answer. `wait=evolved` answers when the job has ended, or with note and job as they
         *     are after 25 seconds, or at once when more than one job of the collection is ahead.
         */
        post: operations["createNote"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/notes/bulk": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Add many notes
         * @description The body is NDJSON. The answer has one result line per input line, in order, and then
         *     `{"summary":{"created":n,"failed":m}}`. At most 32 MiB, 10,000 lines, and 256 KiB in a line. An invalid
         *     line fails alone. A line may have its own idempotency `key`; `Idempotency-Key` makes
         *     all other lines safe to repeat.
         */
        post: operations["bulkNotes"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/notes/{note}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a note */
        get: operations["getNote"];
        put?: never;
        post?: never;
        /**
         * Delete or erase a note
         * @description The note is no longer listed, found or linked. What was derived from it and has no other source goes with it; summaries
         *     are made again without it. Of a fact or a line of knowledge, the sentences that say it leave a mark in the messages
         *     that it was taken from. Where something may still say it, `Slipbox-Sources` names the notes. Versions
         *     remain readable with `as_of` and in the history, and can be restored.
         *
         *     With `erase`, nothing of it remains and nothing can be restored: all versions of the note and of what went with
         *     it, in forks too, and the earlier versions of what says it no longer. A note that is deleted already can be erased.
         *     Its id stays, by which changes and webhooks say that it was removed.
         */
        delete: operations["deleteNote"];
        options?: never;
        head?: never;
        /**
         * Change a note
         * @description JSON Merge Patch: `null` clears an optional field and is refused for `content`. With
         *     `If-Match` the note must still be that version (412). A change of `content` runs
         *     analysis again; `Slipbox-Job` is the id of that job.
         */
        patch: operations["patchNote"];
        trace?: never;
    };
    "/v1/collections/{collection}/notes/{note}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Versions of a note */
        get: operations["getNoteHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/notes/{note}/blame": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What wrote each field of a note */
        get: operations["blameNote"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/notes/{note}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make an earlier version current again
         * @description This also restores a deleted note. Analysis does not run.
         */
        post: operations["restoreNote"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/notes/{note}/links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Links of a note */
        get: operations["listLinks"];
        /**
         * Replace the outgoing links of a note
         * @description `If-Match` takes the ETag of the set of links, which is not the note's.
         */
        put: operations["putLinks"];
        post?: never;
        /** Remove the links from a note to another */
        delete: operations["deleteLinks"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/graph": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Notes and the links between them
         * @description With `center`, the notes around one note; without it, the notes of the collection,
         *     oldest first.
         */
        get: operations["getGraph"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Search several collections
         * @description As the search of one collection, over up to 50 (`collections`), or over all that the key reaches and that have
         *     these ids of an application (`external`). They are ranked together as if they were one: how rare a word is
         *     follows from all of them. They need the same policy, and embedders that compare (409). A note that several of them have, such as
         *     a fork or a copy, is one hit, as the first of them has it. A collection that the key does not reach is 404.
         */
        post: operations["searchAll"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/context": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Build a context from several collections
         * @description As the context of one collection, from several, which are named and ranked as in `POST /v1/search`.
         */
        post: operations["buildContextAll"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Search a collection
         * @description Exactly one of `query`, `vector`, `messages` and `queries` is required. A batch
         *     (`queries`) answers `{"results": [...]}` in the order of its queries; otherwise the
         *     answer is one result.
         */
        post: operations["search"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/context": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Tokens of an agent's context
         * @description What the next prompt of an agent would be, in tokens by part: the instructions, counts of what
         *     is stored, the blocks, the summary of messages that have left the window, the newest messages
         *     that fit, and the tools. Only policies with a window (`memgpt`) have this; others are 422.
         */
        get: operations["getMainContext"];
        put?: never;
        /**
         * Build a context for a prompt
         * @description Searches the collection and writes the hits as one text for a prompt, grouped by kind
         *     of memory and by date. Each note has a mark such as `[1]`, which refers to a citation.
         *     The text never has more than `token_budget` tokens. A note that repeats another one is
         *     left out. A long note is cut to its best passages, with `…` at each cut, and still
         *     cited.
         *
         *     Content of notes is data. It cannot look like a heading, a mark or another note: its
         *     lines are indented, marks and control tokens in it are escaped with a backslash, and
         *     invisible characters are removed. Each cited note counts as used once.
         */
        post: operations["buildContext"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/collections/{collection}/hot": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The most recently used notes
         * @description The score of a note is the number of its uses, halved for every 24 hours since the
         *     last one; equal scores are ordered by id. A use is a client's search that found the
         *     note; it is counted within about a second. Notes that were never used are left out.
         */
        get: operations["listHotNotes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List jobs */
        get: operations["listJobs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{job}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a job */
        get: operations["getJob"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{job}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry an ended job
         * @description The job joins the end of its collection's queue, and its tries are counted again. So does a
         *     job that waits for its next try. A job that is done, running, or queued for its first try is
         *     409.
         */
        post: operations["retryJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{job}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a job
         * @description A job that has ended is 409.
         */
        post: operations["cancelJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{job}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow a job
         * @description Server-sent events named `job` whose data is a `Job`: one at once, and one per change.
         *     The stream ends when the job ends, and with an `error` event (`Problem`) when the credential is no longer accepted.
         */
        get: operations["streamJob"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{job}/results": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Results of an import, per line */
        get: operations["getJobResults"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/reviews": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List reviews
         * @description Proposals (`open`, `approved` and `rejected`) unless `state` selects others. Risky
         *     changes that were made without asking, and can be undone, have `state=applied`.
         */
        get: operations["listReviews"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/reviews/{review}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a review, with each note before and after */
        get: operations["getReview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/reviews/{review}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Apply a proposal
         * @description Applies the proposal if it is open and its notes have not changed since. Otherwise
         *     409; `errors[]` names changed notes, and the review stays open.
         */
        post: operations["approveReview"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/reviews/{review}/reject": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Discard a proposal */
        post: operations["rejectReview"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/reviews/{review}/undo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Undo an applied change
         * @description In one changeset. What was derived from the change is undone or marked stale. A merge is taken back by a rollback, which the
         *     409 names; then the same can be proposed and merged again.
         */
        post: operations["undoReview"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the process is alive */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Whether the process can serve
         * @description Checks the store and its schema. Redis is reported if it is configured, but not
         *     required.
         */
        get: operations["getReady"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/version": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Build of the gateway */
        get: operations["getVersion"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Metrics for Prometheus */
        get: operations["getMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/docs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Reference page of this contract */
        get: operations["getDocs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.yaml": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This contract */
        get: operations["getOpenAPI"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * @description A name that is not a UUID.
         * @example research
         */
        Name: string;
        /** @description Id or name. */
        Ref: string;
        /** @description A name for people, in any script. */
        DisplayName: string;
        /**
         * @description RFC 3339, or `YYYYMMDDHHmm` in UTC. An offset is kept and decides the day; `Z` leaves it to the zone of the collection. From 1900 to 5 minutes ahead.
         * @example 2026-03-01T09:30:00Z
         * @example 202603010930
         */
        EventTime: string;
        /**
         * @description When the note expires, in the future: RFC 3339, or `YYYYMMDDHHmm` in UTC. From then on no read at the head shows it. It is
         *     deleted as by a request, with what was derived from nothing else, and can be restored. Not beside `ttl_seconds`.
         * @example 2099-01-01T00:00:00Z
         */
        ExpiresAt: string;
        /**
         * Format: int64
         * @description Seconds until it expires.
         */
        TTL: number;
        /**
         * Format: int64
         * @description A position in a collection's log.
         */
        Revision: number;
        /** @enum {string} */
        Scope: "notes:read" | "notes:write" | "collections:write" | "base:write" | "clone" | "admin" | "operator";
        /** @description Meaning of the link. A-MEM links are `related`. */
        Relation: string;
        Terms: string[];
        /** @description Free JSON, at most 16 KiB. */
        Attributes: {
            [key: string]: unknown;
        };
        /**
         * @description Exactly one of `and`, `or`, `not`, or a leaf of `field`, `op` and `value`; at most 16
         *     levels deep. Fields: `id`, `kind`, `tags`, `keywords`, `category`, `importance`,
         *     `occurred_at`, `created_at`, `state`, `agent` (whose knowledge a merged note is), `attributes.<path>`, where
         *     `\.` is a dot in a name and `\\` a backslash. `icontains` is `contains` without regard to letter case. Whole numbers are compared
         *     exactly, others as IEEE doubles.
         *
         *     Or, in short, fields with the values that they have, such as `{"tags": "ml", "attributes.project": ["A", "B"]}`: all must hold, and of a
         *     list one value is enough.
         * @example {
         *       "and": [
         *         {
         *           "field": "tags",
         *           "op": "contains",
         *           "value": "ml"
         *         },
         *         {
         *           "field": "importance",
         *           "op": "gte",
         *           "value": 0.5
         *         }
         *       ]
         *     }
         * @example {
         *       "tags": "ml",
         *       "attributes.project": [
         *         "A",
         *         "B"
         *       ]
         *     }
         */
        Filter: {
            and?: components["schemas"]["Filter"][];
            or?: components["schemas"]["Filter"][];
            not?: components["schemas"]["Filter"];
            field?: string;
            /** @enum {string} */
            op?: "eq" | "ne" | "gt" | "gte" | "lt" | "lte" | "in" | "contains" | "icontains" | "exists";
            /** @description Compared with the field; an array for `in`, a boolean for `exists`. */
            value?: unknown;
        } & {
            [key: string]: unknown;
        };
        /** @description RFC 9457. */
        Problem: {
            /** @example about:blank */
            type: string;
            /** @example Unprocessable Content */
            title: string;
            /** @example 422 */
            status: number;
            detail?: string;
            /**
             * @description Stable, for programs.
             * @example invalid
             */
            code: string;
            errors?: components["schemas"]["FieldError"][];
            /** @description Of a block: characters that it has. */
            current?: number;
            /** @description Of a block: characters that it would have. */
            requested?: number;
            /** @description Of a block: characters that it may have. */
            limit?: number;
            /** @description Of a text to replace: how often it occurs. */
            matches?: number;
            /** @description Of a precondition that does not hold: where the version begins that is there. */
            version?: number;
            /** @description Ids of the collections that are in the way, such as those that show a block, as far as the caller reaches them. */
            collections?: string[];
            /** @description Of a merge: the fields that both sides changed. */
            conflicts?: components["schemas"]["MergeConflict"][];
            request_id: string;
        };
        FieldError: {
            /**
             * @description Dotted path in the body, or name of a parameter or header.
             * @example tags.3
             */
            field: string;
            /** @example maximum string length is 256 */
            reason: string;
        };
        TokenRequest: {
            agent?: components["schemas"]["Ref"];
            /** @description Default all of the key's; wider scopes are 403. */
            scopes?: components["schemas"]["Scope"][];
            /** @description Lifetime of the token; default as the gateway is set, 15 minutes unless changed. */
            ttl_seconds?: number;
            /** @description Limits the token to the collections with these ids, as `external` of a key does; ids other than those of the key are 403. Absent: as the key. */
            external?: components["schemas"]["External"];
        };
        Token: {
            access_token: string;
            /** @enum {string} */
            token_type: "Bearer";
            /** @description Seconds. */
            expires_in: number;
            /** @description Name of the agent; absent if the token reaches all collections of the tenant. */
            agent?: string;
            /** @description Ids that the collections have which the token reaches; absent if it is not limited. */
            external?: components["schemas"]["External"];
            scopes: components["schemas"]["Scope"][];
        };
        JWKS: {
            keys: components["schemas"]["JWK"][];
        };
        JWK: {
            /** @enum {string} */
            kty: "OKP";
            /** @enum {string} */
            crv: "Ed25519";
            kid: string;
            /** @enum {string} */
            alg: "EdDSA";
            /** @enum {string} */
            use: "sig";
            /** @description The public key in base64url. */
            x: string;
        };
        APIKeyInput: {
            /** @description The only agent that the key may act for; absent: the whole tenant. */
            agent?: components["schemas"]["Ref"];
            /** @description Default all of the caller's except `operator`. */
            scopes?: components["schemas"]["Scope"][];
            ttl_seconds?: components["schemas"]["TTL"];
            display_name?: components["schemas"]["DisplayName"];
            /**
             * @description Whose memory the key is for: it reaches the collections that have these ids, such as all of a user, and nothing else of
             *     the tenant. It cannot have the scope `admin`. Absent: all memory of the tenant.
             */
            external?: components["schemas"]["External"];
        };
        RotateRequest: {
            /**
             * Format: int64
             * @description How long the old key stays valid.
             * @default 86400
             */
            overlap_seconds?: number;
        };
        APIKeyCreated: {
            id: string;
            /** @description The secret. It is returned only here. */
            key: string;
            /** @description Part of the secret that is safe to show. */
            prefix: string;
            scopes: components["schemas"]["Scope"][];
            agent?: string;
            /** @description Ids that the collections have which the key reaches; absent if it is not limited. */
            external?: components["schemas"]["External"];
            /** Format: date-time */
            expires_at?: string;
        };
        APIKey: {
            id: string;
            prefix: string;
            display_name?: string;
            scopes: components["schemas"]["Scope"][];
            agent?: string;
            /** @description Ids that the collections have which the key reaches; absent if it is not limited. */
            external?: components["schemas"]["External"];
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            expires_at?: string;
            /** Format: date-time */
            revoked_at?: string;
        };
        /** @description What the holder of an API key lets a program do. */
        Grant: {
            /** Format: uuid */
            id: string;
            /** @description Name of the program, as it says; absent if it has none. */
            client?: string;
            /** @description Where the program was answered. */
            redirect_uri: string;
            /** @description What its tokens are for. */
            resource: string;
            scopes: components["schemas"]["Scope"][];
            /** @description Ids of an application that every memory of the program has; absent if it can use all that the key can. */
            external?: components["schemas"]["External"];
            /**
             * Format: uuid
             * @description Id of the key.
             */
            api_key: string;
            /** Format: date-time */
            created_at: string;
            /**
             * Format: date-time
             * @description When it got its last tokens.
             */
            used_at: string;
            /**
             * Format: date-time
             * @description When it ends if it is not used.
             */
            expires_at: string;
        };
        GrantList: {
            items: components["schemas"]["Grant"][];
            next_cursor?: string;
        };
        APIKeyList: {
            items: components["schemas"]["APIKey"][];
            next_cursor?: string;
        };
        AgentInput: {
            name: components["schemas"]["Name"];
            display_name?: components["schemas"]["DisplayName"];
        };
        Agent: {
            /** Format: uuid */
            id: string;
            name: string;
            display_name?: string;
            /** Format: date-time */
            created_at: string;
        };
        AgentList: {
            items: components["schemas"]["Agent"][];
            next_cursor?: string;
        };
        /** @description Limits of a tenant. Absent means unlimited. */
        Limits: {
            /** Format: int64 */
            requests_per_minute?: number;
            /**
             * Format: int64
             * @description At each gateway.
             */
            requests_per_second?: number;
            /** Format: int64 */
            notes?: number;
            /** Format: int64 */
            collections?: number;
            /** Format: int64 */
            forks?: number;
            /** Format: int64 */
            stored_bytes?: number;
            /** Format: int64 */
            model_tokens_per_day?: number;
            /**
             * Format: int64
             * @description Notes and messages that wait for their policy. Adds beyond it are refused.
             */
            queued_jobs?: number;
            /**
             * Format: int64
             * @description For turning files into text, at each process that runs jobs. Files beyond it wait.
             */
            parse_seconds_per_hour?: number;
        };
        /** @description Sets the named limits; `null` or 0 removes a limit. */
        LimitsPatch: {
            /** Format: int64 */
            requests_per_minute?: number | null;
            /** Format: int64 */
            requests_per_second?: number | null;
            /** Format: int64 */
            notes?: number | null;
            /** Format: int64 */
            collections?: number | null;
            /** Format: int64 */
            forks?: number | null;
            /** Format: int64 */
            stored_bytes?: number | null;
            /** Format: int64 */
            model_tokens_per_day?: number | null;
            /** Format: int64 */
            queued_jobs?: number | null;
            /** Format: int64 */
            parse_seconds_per_hour?: number | null;
        };
        TenantInput: {
            name: components["schemas"]["Name"];
            limits?: components["schemas"]["Limits"];
            /**
             * @description Public hosts that its webhooks may reach: `example.com`, `example.com:8443`, `*.example.com` for the names below it, or
             *     `*` for all. Without any, none but those of `SLIPBOX_ALLOW_HOSTS`.
             */
            allowed_hosts?: string[];
        };
        TenantPatch: {
            limits?: components["schemas"]["LimitsPatch"];
            /**
             * @description Public hosts that its webhooks may reach: `example.com`, `example.com:8443`, `*.example.com` for the names below it, or
             *     `*` for all. Without any, none but those of `SLIPBOX_ALLOW_HOSTS`.
             */
            allowed_hosts?: string[];
        };
        Tenant: {
            /** Format: uuid */
            id: string;
            name: string;
            /** @enum {string} */
            state: "active" | "suspended" | "deleting";
            limits: components["schemas"]["Limits"];
            /** @description Public hosts that its webhooks may reach. */
            allowed_hosts: string[];
            /** Format: date-time */
            created_at: string;
        };
        TenantList: {
            items: components["schemas"]["Tenant"][];
            next_cursor?: string;
        };
        Usage: {
            /**
             * Format: date
             * @description First day (UTC) of the model use.
             */
            from: string;
            /**
             * Format: date
             * @description Last day (UTC): today, if none was asked for.
             */
            to: string;
            /** Format: int64 */
            collections: number;
            /** Format: int64 */
            forks: number;
            /** Format: int64 */
            notes: number;
            /** Format: int64 */
            links: number;
            /** Format: int64 */
            stored_bytes: number;
            /** @description Calls of models and embedders, by day and purpose. */
            model: components["schemas"]["ModelUse"][];
            /**
             * Format: int64
             * @description Notes and messages that wait for their policy.
             */
            queued_jobs?: number;
            /** @description The limits in force, the gateway's own included. */
            limits: components["schemas"]["Limits"];
        };
        ModelUse: {
            /** Format: date */
            day: string;
            purpose: string;
            /** Format: uuid */
            collection?: string;
            /** Format: int64 */
            calls: number;
            /** Format: int64 */
            prompt_tokens: number;
            /** Format: int64 */
            completion_tokens: number;
        };
        AuditEntry: {
            /** Format: int64 */
            id: number;
            /** Format: date-time */
            at: string;
            actor: string;
            action: string;
            target?: string;
            detail?: {
                [key: string]: unknown;
            };
        };
        AuditList: {
            items: components["schemas"]["AuditEntry"][];
            next_cursor?: string;
        };
        CollectionInput: {
            name: components["schemas"]["Name"];
            display_name?: components["schemas"]["DisplayName"];
            /** @description Its owner; default the caller's agent, or else a base shared by the tenant. */
            agent?: components["schemas"]["Ref"];
            /**
             * @description Name of a policy; default `amem`.
             * @default amem
             */
            policy?: string;
            /** @description Constants of the policy that differ from its defaults. */
            policy_config?: {
                [key: string]: unknown;
            };
            /** @description Name of the collection's embedder; default the gateway's. */
            embedder?: string;
            external?: components["schemas"]["External"];
            metadata?: components["schemas"]["Attributes"];
            /**
             * @description Return the existing collection of this name, if any.
             * @default false
             */
            extend?: boolean;
            /**
             * @description Deleted when the gateway stops, or at its next start after a crash.
             * @default false
             */
            ephemeral?: boolean;
            ttl_seconds?: components["schemas"]["TTL"];
            /**
             * @description Ids of stand-alone blocks that the new collection shows, in the mode `rw` (`base:write`). A block that
             *     the policy would begin with is left out when one of these has its label.
             */
            blocks?: string[];
            /** @description Ids or names of folders whose files the agents of the new collection read (`notes:write`). */
            folders?: components["schemas"]["Ref"][];
        };
        /**
         * @description What an application calls the collection by: its own ids, any text of 1 to 256 bytes without control
         *     characters. A set of ids belongs to one collection of the tenant; another one with the same is 409. They do
         *     not change. A fork or copy has those that its request says, not those of its source.
         * @example {
         *       "user": "nora@example.com"
         *     }
         */
        External: {
            user?: components["schemas"]["ExternalID"];
            agent?: components["schemas"]["ExternalID"];
            app?: components["schemas"]["ExternalID"];
            run?: components["schemas"]["ExternalID"];
        };
        ErasureReport: {
            /** @description Notes of which no version is left: the one that was named, and what it alone supported. */
            erased: string[];
            /** @description Notes that remain without what was erased, and of which only the current version is left. */
            rewritten: string[];
            /** @description Whose logs were searched: that of the note and its forks. */
            collections: string[];
            /**
             * Format: int64
             * @description Versions that are gone, with their vectors.
             */
            versions: number;
            /**
             * Format: int64
             * @description Jobs that are gone, or whose result is.
             */
            jobs: number;
            /**
             * Format: int64
             * @description Reviews that are gone.
             */
            reviews: number;
            /** @description Jobs that erase the earlier versions of summaries and profiles, which a policy makes again first. */
            waiting: string[];
            /** @description Collections where something is left to erase. Forks that the key may not write: the note is gone from them, too, but not what their agents derived from it. Collections that this one was forked from, and their other forks: a merge has taken the note, or what was derived from it, there. */
            kept: components["schemas"]["ErasureKept"][];
            traces: components["schemas"]["Traces"];
        };
        /**
         * @description What the files of the database keep of all that was erased, in gaps of their pages. `cleared`: nothing. `pending`: pieces, until
         *     the gateway vacuums the file, when nothing was written for ten seconds, after ten minutes, or when it ends. `vacuum_needed`:
         *     pieces, until an operator runs `gateway vacuum`; the file is larger than `SLIPBOX_VACUUM_BELOW`. `autovacuum`: dead rows,
         *     until Postgres vacuums them.
         * @enum {string}
         */
        Traces: "cleared" | "pending" | "vacuum_needed" | "autovacuum";
        ErasureKept: {
            /** Format: uuid */
            id: string;
            name: string;
        };
        ForgetReport: {
            /** @description All rows of what was deleted are known to be gone. */
            removed: boolean;
            deleted: components["schemas"]["ForgottenCollection"][];
            kept: components["schemas"]["KeptCollection"][];
            /**
             * Format: int64
             * @description In all deleted collections, at their heads.
             */
            notes: number;
            /**
             * Format: int64
             * @description Of these notes.
             */
            bytes: number;
            traces?: components["schemas"]["Traces"];
        };
        RemovalReport: {
            /** @description Jobs that remove its rows. Each is 404 when they are gone. */
            jobs: string[];
            /** @description All rows of what was deleted are known to be gone. */
            removed: boolean;
            traces?: components["schemas"]["Traces"];
        };
        ForgottenCollection: {
            /**
             * Format: uuid
             * @description The job that removes its rows. It is 404 when they are gone.
             */
            job: string;
            /** Format: uuid */
            id: string;
            name: string;
            external?: components["schemas"]["External"];
            policy: string;
            counts: components["schemas"]["Counts"];
        };
        KeptCollection: {
            /** Format: uuid */
            id: string;
            name: string;
            external?: components["schemas"]["External"];
            /** @description As in a problem document. */
            code: string;
            detail: string;
        };
        /** @description At most 256 bytes. */
        ExternalID: string;
        CollectionPatch: {
            name?: components["schemas"]["Name"];
            display_name?: string | null;
            policy?: string;
            policy_config?: {
                [key: string]: unknown;
            } | null;
            metadata?: {
                [key: string]: unknown;
            } | null;
            /**
             * Format: int64
             * @description From now; `null` for no expiry.
             */
            ttl_seconds?: number | null;
        };
        Collection: {
            /** Format: uuid */
            id: string;
            name: string;
            display_name?: string;
            /** @description Name of its owner; absent for a shared base. */
            agent?: string;
            external?: components["schemas"]["External"];
            policy: string;
            policy_config: {
                [key: string]: unknown;
            };
            embedder: string;
            metadata?: {
                [key: string]: unknown;
            };
            /** @enum {string} */
            state?: "active" | "copying";
            ephemeral?: boolean;
            parent?: components["schemas"]["Layer"];
            /** @description This collection and its ancestors, nearest first, each with the revision up to which it is read. Only when one collection is read. */
            lineage?: components["schemas"]["Layer"][];
            head_revision: components["schemas"]["Revision"];
            floor_revision?: components["schemas"]["Revision"];
            counts?: components["schemas"]["Counts"];
            index?: components["schemas"]["IndexState"];
            work?: components["schemas"]["Work"];
            /** Format: date-time */
            expires_at?: string;
            /** Format: date-time */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was last written, or up to a minute before.
             */
            updated_at?: string;
        };
        Layer: {
            /** Format: uuid */
            collection: string;
            revision: components["schemas"]["Revision"];
        };
        /** @description What is visible at the head; absent while not known (a fork of the past). */
        Counts: {
            /** Format: int64 */
            notes: number;
            /** Format: int64 */
            links: number;
            /**
             * Format: int64
             * @description Notes that wait for a vector or a model.
             */
            pending: number;
            /** Format: int64 */
            in_review: number;
            kinds: {
                [key: string]: number;
            };
        };
        /** @description What waits in the collection. Only when one collection is read. */
        Work: {
            /** @description Where something waits, in the order in which a note passes; empty when all is done. */
            stages: components["schemas"]["WorkStage"][];
            /**
             * Format: int64
             * @description Jobs whose tries are used up: `GET /v1/jobs` lists them with `state=dead`, and `POST /v1/jobs/{job}/retry` tries one again.
             */
            dead: number;
        };
        WorkStage: {
            /**
             * @description `vectors`: notes that wait for their vector alone. `description`: notes and messages to be described and embedded. `links`:
             *     those of which the policy has still to decide what to link, learn or change. `policy`: tasks, such as summaries, imports and copies.
             * @enum {string}
             */
            stage: "vectors" | "description" | "links" | "policy";
            /**
             * Format: int64
             * @description How many wait or are being worked on.
             */
            waiting: number;
            /**
             * Format: int64
             * @description About how long until these are done, at the rate at which the last ones ended; absent while that is not known.
             */
            seconds_left?: number;
        };
        /** @description The in-memory index of the gateway that answered. Only when one collection is read. */
        IndexState: {
            /** @enum {string} */
            state: "cold" | "loading" | "ready";
            revision?: components["schemas"]["Revision"];
            /** Format: int64 */
            notes?: number;
            /** Format: int64 */
            bytes?: number;
        };
        CollectionList: {
            items: components["schemas"]["Collection"][];
            next_cursor?: string;
        };
        CloneRequest: {
            /** @description Owner of the clone; default the caller's agent, or else shared. */
            agent?: components["schemas"]["Ref"];
            name?: components["schemas"]["Name"];
            external?: components["schemas"]["External"];
            /**
             * @default fork
             * @enum {string}
             */
            mode?: "fork" | "copy";
            /** @description The fork point: a revision, a time (RFC 3339) or the name of a snapshot. Default the head. */
            at_revision?: components["schemas"]["AsOf"];
            ttl_seconds?: components["schemas"]["TTL"];
            /**
             * @description Notes per step of a copy.
             * @default 250
             */
            batch_size?: number;
            /**
             * @description Of the blocks that are attached now, the clone gets copies of its own, or the same ones.
             * @default copy
             * @enum {string}
             */
            blocks?: "copy" | "share";
            /**
             * @description Policy of a fork; default that of the collection. What the collection has learned stays as it is, and what is written to the
             *     fork is decided by this policy. A fork with another policy is compared with its base, and not merged into it. It needs
             *     `collections:write`, too.
             */
            policy?: string;
            /**
             * @description Settings of the policy of a fork, in place of those of the collection; default the collection's, and with another policy the
             *     policy's defaults. They need `collections:write`, too.
             */
            policy_config?: {
                [key: string]: unknown;
            };
        };
        RefreshRequest: {
            /**
             * @description Who answers again.
             * @enum {string}
             */
            analyst: "model";
        };
        ReembedRequest: {
            /** @description Name of a configured embedder; the refusal of another name lists them. */
            embedder: string;
        };
        CloneAccepted: {
            collection: components["schemas"]["Collection"];
            job: components["schemas"]["JobRef"];
        };
        JobAccepted: {
            job: components["schemas"]["JobRef"];
        };
        PolicyDescription: {
            /**
             * @description Name for `policy` of a collection.
             * @example amem
             */
            name: string;
            /** @description Name for people. */
            title: string;
            description: string;
            /** @description Values of its constants. */
            defaults: {
                [key: string]: unknown;
            };
            /** @description JSON Schema of what `policy_config` may override. */
            schema: {
                [key: string]: unknown;
            };
            /** @description The policy works on exchanges of messages, not on single messages. */
            exchanges: boolean;
            reading?: components["schemas"]["PolicyReading"];
        };
        /** @description How searches and contexts read a collection with the default settings of the policy, unless a request says otherwise. */
        PolicyReading: {
            /** @description Kinds of notes that are searched; empty means all. */
            kinds: components["schemas"]["Kind"][];
            /** @description Kinds of the notes that a context shows first, whatever is asked. */
            pinned: components["schemas"]["Kind"][];
            /** @description Newest messages that a context ends with. */
            recent: number;
            /** @description Hits of a search, and candidates of a context; absent means the usual number. */
            k?: number;
            /** @description A context groups what it found by date. */
            by_date: boolean;
            /** @description Triples about the entities that a query names are hits too. */
            graph: boolean;
            /** @description Contexts also draw on the messages, which searches leave out. */
            messages: boolean;
            /** @description How far contexts follow links. */
            expand_links: number;
            /** @description Contexts show a message with its exchange, and merge the exchanges beside it up to so many characters; 0: alone. */
            piece_chars: number;
        };
        PolicyList: {
            items: components["schemas"]["PolicyDescription"][];
        };
        Costs: {
            /**
             * Format: date
             * @description First day (UTC).
             */
            from: string;
            /**
             * Format: date
             * @description Last day (UTC).
             */
            to: string;
            /** @description By purpose, sorted by its name. */
            purposes: components["schemas"]["PurposeCost"][];
            /** @description By day, the first one first. Days on which nothing was added or asked are left out. */
            days: components["schemas"]["DayCost"][];
            /**
             * Format: int64
             * @description Changes that added notes or messages.
             */
            adds: number;
            /**
             * Format: int64
             * @description Model calls for chats.
             */
            answers: number;
            per_add: components["schemas"]["AverageCost"];
            per_answer: components["schemas"]["AverageCost"];
        };
        DayCost: {
            /**
             * Format: date
             * @description In UTC.
             */
            day: string;
            /**
             * Format: int64
             * @description Changes that added notes or messages.
             */
            adds: number;
            /**
             * Format: int64
             * @description Requests that reached the endpoint, of all purposes.
             */
            calls: number;
            /**
             * Format: int64
             * @description As the endpoint counted them.
             */
            prompt_tokens: number;
            /**
             * Format: int64
             * @description As the endpoint counted them.
             */
            completion_tokens: number;
        };
        PurposeCost: {
            /** @description Name of the call, such as `extract` or `chat`. */
            purpose: string;
            /**
             * Format: int64
             * @description Requests that reached the endpoint.
             */
            calls: number;
            /**
             * Format: int64
             * @description As the endpoint counted them.
             */
            prompt_tokens: number;
            /**
             * Format: int64
             * @description As the endpoint counted them.
             */
            completion_tokens: number;
        };
        /** @description An average; zeros if there was nothing to average. */
        AverageCost: {
            /**
             * Format: double
             * @description Requests that reached the endpoint.
             */
            calls: number;
            /**
             * Format: double
             * @description As the endpoint counted them.
             */
            prompt_tokens: number;
            /**
             * Format: double
             * @description As the endpoint counted them.
             */
            completion_tokens: number;
        };
        /**
         * @description RFC 3339 with any offset, `YYYYMMDDHHmm` in UTC, or in filters a date. May be in the future.
         * @example 2026-03-01T09:30:00Z
         */
        AnyTime: string;
        /**
         * @description Role of a message in a conversation.
         * @enum {string}
         */
        MessageRole: "user" | "assistant" | "system" | "developer" | "tool";
        /**
         * @example {
         *       "messages": [
         *         {
         *           "role": "user",
         *           "name": "Ada",
         *           "content": "I moved to Lisbon last week.",
         *           "occurred_at": "2026-03-01T09:30:00Z",
         *           "session": "7",
         *           "id": "m-17"
         *         },
         *         {
         *           "role": "assistant",
         *           "content": "How do you like it there?",
         *           "occurred_at": "2026-03-01T09:30:05Z",
         *           "session": "7",
         *           "id": "m-18"
         *         }
         *       ]
         *     }
         */
        MessagesInput: {
            /** @description In the order in which they were said; a pair counts as two. */
            messages: components["schemas"]["MessageInput"][];
            /**
             * @description `false` stores the messages without running the policy.
             * @default true
             */
            infer?: boolean;
            on_duplicate?: components["schemas"]["OnDuplicate"];
            guidance?: components["schemas"]["Guidance"];
        };
        /**
         * @description What a model learns from these messages alone; no setting of the collection. `mem0` and `mem0g` follow it where a model is
         *     configured. Where it is not followed, `unguided` of the answer or of the job's result says why.
         */
        Guidance: {
            /** @description What to note, and how to word it. */
            instructions?: string;
            /** @description Only what belongs to this is learned. */
            includes?: string;
            /** @description What belongs to this is not learned. */
            excludes?: string;
            /** @description What is learned is tagged with those that fit. */
            categories?: {
                name: string;
                description?: string;
            }[];
        };
        /**
         * @description A text that the user said, or `role` and `content`, or a pair of `user` and `assistant`. A pair makes two messages
         *     with the same fields; their ids are `id` followed by `/user` and `/assistant`. A pair
         *     with one empty or absent side is one message.
         *
         *     Messages are also read as other programs keep and send them: those of OpenAI's chat completions and assistants, items of its
         *     responses (such as `function_call` and `function_call_output`), and messages of Anthropic, Google (`parts`), Cohere, Ollama, Bedrock,
         *     LangChain (`type: human`, or with `data`), LlamaIndex, the AI SDK, AutoGen and Semantic Kernel. Their `type`, `author`, `from` or `sender` is the role,
         *     their `text`, `parts` or `blocks` the content, and their `timestamp`, `created_at`, `createdAt` or `create_time` the time.
         *     What they have beside that is not stored. A field that is null is absent. A message without words, such as a call, is left out
         *     (`unread`), unless none is left.
         */
        MessageInput: {
            /** @description Your own id; makes the message safe to send again, also in another request. A list, as LangChain writes classes, is not one. */
            id?: string | string[] | null;
            /** @description `user` (the default), `assistant`, `system`, `developer` or `tool`, or what other programs call them, such as `human` and `ai`, also as the `label` of an object. */
            role?: string | {
                [key: string]: unknown;
            } | null;
            /**
             * @description A string, or parts as OpenAI, Anthropic or Google write them; at most 64 KiB as it is stored. Parts become
             *     one text with one line each. An image is stored as its description (`[image: …]`),
             *     not as an image. What a tool answered becomes a message of its own, with the role `tool`. Parts without a
             *     text are left out (`unread`). Thinking of a model, `data:` addresses, and 4 KiB or more of
             *     encoded data become a mark (`[left out: …]`).
             */
            content?: string | components["schemas"]["MessagePart"][] | {
                [key: string]: unknown;
            } | null;
            /** @description As OpenAI has them; not stored. */
            tool_calls?: {
                [key: string]: unknown;
            }[] | null;
            /** @description As OpenAI has it; not stored. */
            tool_call_id?: string | null;
            /** @description As OpenAI has it: the content of a message without one. */
            refusal?: string | null;
            /** @description The user's message of a pair. */
            user?: string | null;
            /** @description The assistant's answer of a pair. */
            assistant?: string | null;
            /** @description Name of the speaker, as in prompts and facts; in a pair, the user's. */
            name?: string | null;
            /**
             * @description When it was said; default now: RFC 3339, `YYYYMMDDHHmm` in UTC, a date or a time without an offset in the zone of the collection, or a number of seconds, milliseconds or smaller units since 1970. At most 5 minutes in the future.
             * @example 2026-03-01T09:30:00Z
             * @example 1772357400000
             */
            occurred_at?: string | number | null;
            /** @description A name or number that identifies the conversation. */
            session?: string | number | null;
            /** @description Your own attributes, at most 16 KiB; `role`, `name`, `session`, `turn`, `recalled` and `expires_at` are reserved for the fields of that name. */
            attributes?: {
                [key: string]: unknown;
            } | null;
            /** @description When it expires, and what is learned from it; as `occurred_at`, in the future. */
            expires_at?: string | number | null;
            /** @description Seconds until it expires. */
            ttl_seconds?: number | null;
            /**
             * @description It was written with recalled memories in the prompt, so nothing is learned from it.
             * @default false
             */
            recalled?: boolean | null;
        };
        /** @description A text, an object with a `text`, an image with a `description` of its content, or another part of a known form. Images themselves are not read. */
        MessagePart: string | {
            [key: string]: unknown;
        };
        MessagesAccepted: {
            /** @description One per message, two per pair, in order. An answer of a tool among the parts of a message is one before it, and a message in which nothing can be read has none. */
            messages: components["schemas"]["MessageRef"][];
            /** @description Parts without a text, such as calls and images without a description, which were left out; absent if there are none. */
            unread?: number;
            revision: components["schemas"]["Revision"];
            /** @description The last job that the messages caused; absent if there is none. */
            job?: components["schemas"]["JobRef"];
            /** @description Why the guidance is not followed; without `wait=evolved` it may be in the job's result only. */
            unguided?: string;
            /** @description With `wait=evolved` and the scope `notes:read`: what the jobs that have ended derived from the messages, such as facts. It is empty when nothing was learned, and with policies that keep messages as they are. */
            learned?: components["schemas"]["LearnedMemory"][];
        };
        /**
         * @description What happened: a memory was added, changed, deleted because it is no longer true, or replaced by another one.
         * @enum {string}
         */
        LearnedEvent: "ADD" | "UPDATE" | "DELETE" | "REPLACE";
        LearnedMemory: {
            /** @description Its text now; of a deleted memory, its last text. */
            memory: string;
            event: components["schemas"]["LearnedEvent"];
            /**
             * Format: uuid
             * @description Id of the note that holds it; of a deleted memory, of the deleted note.
             */
            note: string;
            /** @description With `UPDATE` and `REPLACE`: the text before. */
            previous?: string;
        };
        MessageRef: {
            /**
             * Format: uuid
             * @description Id of the message's note.
             */
            id: string;
        };
        StoredMessage: {
            /**
             * Format: uuid
             * @description Id of the message's note.
             */
            id: string;
            /** @description The id that the client sent. */
            message_id?: string;
            role: components["schemas"]["MessageRole"];
            /** @description As it was said. */
            content: string;
            /** @description Name of the speaker. */
            name?: string;
            /** @description The conversation that it belongs to. */
            session?: string | number;
            /**
             * Format: uuid
             * @description The exchange that it belongs to.
             */
            turn?: string;
            /**
             * Format: date-time
             * @description When it was said.
             */
            occurred_at: string;
            /**
             * Format: date-time
             * @description When it was stored.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it expires, and what is learned from it; absent: never.
             */
            expires_at?: string;
            /** @description It was written with recalled memories in the prompt; absent otherwise. */
            recalled?: boolean;
            /** @description Attributes that the client sent. */
            attributes?: {
                [key: string]: unknown;
            };
            revision: components["schemas"]["Revision"];
            state: components["schemas"]["NoteState"];
            /**
             * Format: double
             * @description Only with `query`; higher is better.
             */
            score?: number;
        };
        MessageList: {
            items: components["schemas"]["StoredMessage"][];
            /** @description Start of the next page; absent on the last page. */
            next_cursor?: string;
            revision: components["schemas"]["Revision"];
            /** @description With `query`: why parts of the search failed; absent if none did. */
            degraded?: string;
        };
        Fact: {
            /**
             * @description Name of the entity that the fact is about.
             * @example Ada
             */
            subject: string;
            /**
             * @description How the subject is related to the object.
             * @example lives_in
             */
            relation: string;
            /**
             * @description Name of the entity that the subject is related to.
             * @example Lisbon
             */
            object: string;
            /**
             * Format: uuid
             * @description The subject's note.
             */
            subject_id: string;
            /**
             * Format: uuid
             * @description The object's note.
             */
            object_id: string;
            /** @description Whether it is true now. */
            valid: boolean;
            /**
             * Format: date-time
             * @description Since when it is true; may be in the future. Absent: not known.
             */
            valid_from?: string;
            /**
             * Format: date-time
             * @description When it ceased to be true; absent while it is true.
             */
            invalidated_at?: string;
            /** @description True while another fact of the same subject and relation contradicts it; else absent. */
            contested?: boolean;
            /** @description How often it was mentioned. */
            mentions: number;
            /**
             * Format: double
             * @description 0 to 1.
             */
            confidence: number;
            /** @description Notes that it was derived from. */
            sources: string[];
        };
        FactList: {
            items: components["schemas"]["Fact"][];
            /** @description With `conflicts=true`: the pairs of this page that disagree. */
            conflicts?: components["schemas"]["FactConflict"][];
            /** @description Start of the next page; absent on the last page. */
            next_cursor?: string;
            revision: components["schemas"]["Revision"];
        };
        /** @description Two facts of one subject and relation that cannot both be true. */
        FactConflict: {
            /** @description Name of the entity that both are about. */
            subject: string;
            relation: string;
            old: components["schemas"]["Fact"];
            new: components["schemas"]["Fact"];
        };
        /**
         * @description A layer: `working` (what was said lately), `episodic` (what happened and mattered), `semantic` (what is known).
         * @enum {string}
         */
        LayerName: "working" | "episodic" | "semantic";
        /**
         * @example {
         *       "content": "My name is Ada and I work as a software engineer.",
         *       "role": "user"
         *     }
         */
        RememberInput: {
            /** @description Text, at most 64 KiB. */
            content: string;
            /** @description Who said it. Absent: nobody in particular; the rules of items apply. */
            role?: components["schemas"]["MessageRole"];
            /** @description Of the speaker. */
            name?: string;
            /** @description What it is, in your words, such as `text` or `function_result`. */
            type?: string;
            /**
             * Format: double
             * @description Replaces the one by the rules.
             */
            importance?: number;
            /** @description Only these layers. Default: all. */
            layers?: components["schemas"]["LayerName"][];
            attributes?: components["schemas"]["Attributes"];
            occurred_at?: components["schemas"]["EventTime"];
            expires_at?: components["schemas"]["ExpiresAt"];
            ttl_seconds?: components["schemas"]["TTL"];
        };
        Remembered: {
            stored: components["schemas"]["StoredItem"][];
            skipped: components["schemas"]["SkippedItem"][];
            /** @description Contradictions that were found. */
            conflicts: components["schemas"]["TripleConflict"][];
            /** @description What a model took to be no longer true. It is kept with its time, and holds again when it is stated again. */
            ended: components["schemas"]["EndedTriple"][];
            /**
             * Format: int64
             * @description Turns of the collection so far; absent in a repeated answer.
             */
            turn?: number;
            revision: components["schemas"]["Revision"];
        };
        StoredItem: {
            layer: components["schemas"]["LayerName"];
            /**
             * Format: uuid
             * @description The note that holds it.
             */
            note: string;
            /**
             * Format: double
             * @description Of the item, 0 to 1.
             */
            importance: number;
            triple?: components["schemas"]["Triple"];
        };
        /** @description What the semantic layer holds. */
        Triple: {
            /** @example user */
            subject: string;
            /** @example name */
            relation: string;
            /** @example Ada */
            object: string;
            /**
             * Format: double
             * @description 0 to 1, now.
             */
            confidence: number;
        };
        SkippedItem: {
            layer: components["schemas"]["LayerName"];
            /** @description In words. */
            reason: string;
            /**
             * Format: uuid
             * @description The note that holds it already, if one does.
             */
            note?: string;
        };
        /** @description Two triples contradict each other. The old one was said about the earlier time, whenever it came in. */
        TripleConflict: {
            subject: string;
            relation: string;
            old: components["schemas"]["TriplePosition"];
            new: components["schemas"]["TriplePosition"];
        };
        /** @description A triple that no longer holds. It is kept with its time. */
        EndedTriple: {
            /**
             * Format: uuid
             * @description The triple's note.
             */
            note: string;
            subject: string;
            relation: string;
            object: string;
        };
        TriplePosition: {
            /**
             * Format: uuid
             * @description The triple's note.
             */
            note: string;
            object: string;
            /**
             * Format: double
             * @description 0 to 1.
             */
            confidence: number;
        };
        /**
         * @example {
         *       "query": "What is my name?"
         *     }
         * @example {
         *       "query": "Which framework should I use?",
         *       "combined": true,
         *       "k": 8
         *     }
         */
        RecallInput: {
            /** @description At most 64 KiB. */
            query: string;
            /** @description Only this layer. Default: all. */
            layer?: components["schemas"]["LayerName"];
            /** @description Items. Default 8. */
            k?: number;
            /**
             * @description One list over all layers.
             * @default false
             */
            combined?: boolean;
            /**
             * @description Show the parts of each score.
             * @default false
             */
            explain?: boolean;
            as_of?: components["schemas"]["AsOf"];
            /** @description Wait, for a short time, until the collection has this revision. */
            min_revision?: components["schemas"]["Revision"];
        };
        /** @description A layer that failed has no list; `degraded` names it. */
        RecallAnswer: {
            /** @description With `layer` or `combined`. */
            items?: components["schemas"]["RecalledItem"][];
            working?: components["schemas"]["RecalledItem"][];
            episodic?: components["schemas"]["RecalledItem"][];
            semantic?: components["schemas"]["RecalledItem"][];
            /** @description The layer that answers the question best; absent: none in particular. */
            aim?: components["schemas"]["LayerName"];
            /** @description Why less answered than usual; absent if nothing failed. */
            degraded?: string;
            revision: components["schemas"]["Revision"];
        };
        RecalledItem: {
            note: components["schemas"]["Note"];
            layer: components["schemas"]["LayerName"];
            /** @description Of a combined answer: all layers that hold the text. */
            layers?: components["schemas"]["LayerName"][];
            /**
             * Format: double
             * @description Higher is better.
             */
            score: number;
            /** @description Parts of the score: its formula. */
            explain?: components["schemas"]["ScorePart"][];
        };
        ScorePart: {
            /** @example cosine */
            signal: string;
            /** Format: double */
            value: number;
            /** Format: double */
            weight: number;
        };
        LayerList: {
            items: components["schemas"]["LayerState"][];
            revision: components["schemas"]["Revision"];
        };
        LayerState: {
            layer: components["schemas"]["LayerName"];
            count: number;
            /** @description Items at most; of `episodic`, above which a consolidation shrinks it. Absent: no bound. */
            capacity?: number;
            /**
             * Format: date-time
             * @description Event time of the oldest item; absent without items.
             */
            oldest?: string;
            /** Format: date-time */
            newest?: string;
            /** @description Items that others contradict; absent if there are none. */
            contested?: number;
        };
        SessionList: {
            items: components["schemas"]["SessionState"][];
            /** @description Start of the next page; absent on the last page. */
            next_cursor?: string;
            revision: components["schemas"]["Revision"];
        };
        SessionState: {
            /**
             * Format: uuid
             * @description Id of the session's note.
             */
            id: string;
            /** @description Name of its topic. */
            theme?: string;
            /** @description What was said in it. */
            summary: string;
            keywords: string[];
            /**
             * Format: double
             * @description Now: alpha·visits + beta·interaction + gamma·recency.
             */
            heat: number;
            /** @description Searches and contexts that showed it since its last analysis. */
            visits: number;
            /** @description All searches and contexts that showed it. */
            accesses: number;
            /** @description Pages that it got since its last analysis. */
            interaction: number;
            /**
             * Format: double
             * @description Now, 0 to 1.
             */
            recency: number;
            /** @description Pages that were not analyzed. */
            fresh: number;
            /** @description How many it has. */
            pages: number;
            /** @description Why it cannot be read; the policy leaves it as it is. */
            damaged?: string;
            /** Format: date-time */
            created_at: string;
            /**
             * Format: date-time
             * @description When it last got a page or was shown; absent when it cannot be read.
             */
            last_visit?: string;
        };
        SessionDetail: {
            /**
             * Format: uuid
             * @description Id of the session's note.
             */
            id: string;
            /** @description Name of its topic. */
            theme?: string;
            /** @description What was said in it. */
            summary: string;
            keywords: string[];
            /**
             * Format: double
             * @description Now: alpha·visits + beta·interaction + gamma·recency.
             */
            heat: number;
            /** @description Searches and contexts that showed it since its last analysis. */
            visits: number;
            /** @description All searches and contexts that showed it. */
            accesses: number;
            /** @description Pages that it got since its last analysis. */
            interaction: number;
            /**
             * Format: double
             * @description Now, 0 to 1.
             */
            recency: number;
            /** @description Pages that were not analyzed. */
            fresh: number;
            /** @description A page of them, oldest first. */
            pages: components["schemas"]["SessionPage"][];
            /** @description Why it cannot be read; the policy leaves it as it is. */
            damaged?: string;
            /** Format: date-time */
            created_at: string;
            /**
             * Format: date-time
             * @description When it last got a page or was shown; absent when it cannot be read.
             */
            last_visit?: string;
            /** @description Start of the next pages; absent at the end. */
            next_cursor?: string;
            revision: components["schemas"]["Revision"];
        };
        /** @description What a person said and what was answered; a side that said nothing is absent. */
        SessionPage: {
            /**
             * Format: uuid
             * @description Id of its first message.
             */
            id: string;
            user?: string;
            assistant?: string;
            /**
             * Format: date-time
             * @description Event time of its first message.
             */
            at: string;
            /** @description Summary of its chain; empty if there is none. */
            meta: string;
            /**
             * Format: uuid
             * @description The page that it continues; absent at the start of a chain.
             */
            previous?: string;
            /**
             * Format: uuid
             * @description The page that continues it.
             */
            next?: string;
            /** @description Profile and knowledge were taken from it. */
            analyzed: boolean;
            /** @description Its messages have the attribute `preloaded`. */
            preloaded: boolean;
            keywords: string[];
            /** @description Ids, oldest first. */
            messages: string[];
            /** @description Why it is in this session. */
            reason: string;
        };
        Tiers: {
            short: {
                /** @description Exchanges; those whose job has not ended may exceed the capacity. */
                pairs: number;
                capacity: number;
            };
            mid: {
                sessions: number;
                pages: number;
                /** @description Sessions. */
                capacity: number;
            };
            long: {
                /** @description Entries of knowledge about the user. */
                user: number;
                /** @description Entries of knowledge about the assistant. */
                assistant: number;
                /** @description There is a profile. */
                profile: boolean;
                /** @description Entries of each kind of knowledge: ten times `knowledge_capacity` while most are quotations. */
                capacity: number;
            };
            revision: components["schemas"]["Revision"];
        };
        /** @enum {string} */
        TierName: "short" | "mid" | "long" | "evicted";
        Move: {
            /** Format: date-time */
            at: string;
            from: components["schemas"]["TierName"];
            to: components["schemas"]["TierName"];
            /**
             * Format: uuid
             * @description The first message of an exchange, or a session.
             */
            note: string;
            /**
             * Format: uuid
             * @description Session that an exchange moved to.
             */
            session?: string;
            /** @description In words. */
            reason: string;
            /**
             * Format: double
             * @description Of the session, then.
             */
            heat: number;
            /**
             * Format: uuid
             * @description That decided it.
             */
            job?: string;
        };
        MoveList: {
            items: components["schemas"]["Move"][];
            /** @description Start of the next page; absent on the last page. */
            next_cursor?: string;
            revision: components["schemas"]["Revision"];
        };
        ProfileDimension: {
            /** @description Of the catalog of 90 dimensions. */
            name: string;
            /**
             * @description How strongly it shows.
             * @enum {string}
             */
            level: "High" | "Medium" | "Low";
            /** @description What the person said or did that shows it, newest last. */
            evidence: string[];
        };
        /**
         * @description `threshold` forgets notes with a retention below a floor; `random` forgets notes at
         *     random, more likely those with a low retention.
         * @enum {string}
         */
        ForgetMode: "threshold" | "random";
        /**
         * @example {
         *       "dry_run": true,
         *       "mode": "threshold",
         *       "floor": 0.05
         *     }
         */
        ForgetRequest: {
            /**
             * @description Only report what would be deleted.
             * @default false
             */
            dry_run?: boolean;
            /**
             * @description Remove every version of the notes, for good.
             * @default false
             */
            erase?: boolean;
            /** @description Default: the collection's. */
            mode?: components["schemas"]["ForgetMode"];
            /**
             * Format: double
             * @description Retention below which `threshold` forgets. Default: the collection's.
             */
            floor?: number;
            /**
             * Format: double
             * @description Days until a note of strength 1 fades to 1/e. Default: the collection's.
             */
            tau?: number;
        };
        ForgetAnswer: {
            /** @description The value of the request: if true, nothing was deleted. */
            dry_run: boolean;
            mode: components["schemas"]["ForgetMode"];
            /** @description Notes that were or would be deleted. */
            items: components["schemas"]["ForgottenNote"][];
            /** @description How many notes were or would be deleted. */
            forgotten: number;
            /** @description Exchanges and summaries that were checked; each fades as a whole. */
            looked?: number;
            /** @description Faded notes that are left for the next call, because one call deletes a limited number; absent if there are none. */
            left?: number;
            /** @description What was erased, with `erase`; absent of a dry run. */
            erasure?: components["schemas"]["ErasureReport"];
            revision: components["schemas"]["Revision"];
        };
        ForgottenNote: {
            /**
             * Format: uuid
             * @description Id of the note.
             */
            note: string;
            kind: components["schemas"]["Kind"];
            /**
             * Format: double
             * @description 0 to 1.
             */
            retention: number;
            /** @description In words. */
            reason: string;
        };
        /**
         * @description What a summary covers: a day, a session, or everything.
         * @enum {string}
         */
        SummaryPeriod: "day" | "session" | "global";
        SummaryNote: {
            /**
             * Format: uuid
             * @description Id of the summary's note.
             */
            id: string;
            period: components["schemas"]["SummaryPeriod"];
            /**
             * Format: date
             * @description For a day.
             */
            date?: string;
            /** @description For a session. */
            session?: string;
            /** @description The summary. */
            content: string;
            /** @description What happened, one event each. */
            events?: string[];
            /**
             * @description Who wrote it.
             * @enum {string}
             */
            analyst?: "model" | "heuristic";
            /** @description Notes that it was derived from. */
            sources?: string[];
            /**
             * Format: date-time
             * @description When it was first written.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was last rewritten.
             */
            updated_at: string;
            revision: components["schemas"]["Revision"];
        };
        SummaryList: {
            items: components["schemas"]["SummaryNote"][];
            /** @description Start of the next page; absent on the last page. */
            next_cursor?: string;
            revision: components["schemas"]["Revision"];
        };
        Profile: {
            /** @description What the person is like, over all days. */
            portrait?: string;
            /** @description How to answer such a person. */
            reply_strategy?: string;
            /** @description The profile as text (`memoryos`), or what is known of the person, a line for each statement with the day since which it holds (`layered`). */
            text?: string;
            /** @description Findings over a catalog of dimensions (`memoryos`); one without evidence is absent. */
            dimensions?: components["schemas"]["ProfileDimension"][];
            /**
             * Format: date-time
             * @description When the policy last wrote the profile.
             */
            updated_at?: string;
            /** @description What it was derived from has changed, and it is not written again yet. */
            stale?: boolean;
            /** @description What single days showed, newest first. */
            days: components["schemas"]["ProfileDay"][];
            /** @description What callers or an import say about the person and the companion, such as `name`, `hobbies`, `speaking_style`. */
            meta?: {
                [key: string]: unknown;
            };
            /** @description Notes of the portrait, of `meta`, and of what is known. */
            notes?: string[];
            revision: components["schemas"]["Revision"];
        };
        /**
         * @example {
         *       "name": "Ada",
         *       "hobbies": "sailing, old maps",
         *       "speaking_style": "brief"
         *     }
         */
        ProfileInput: {
            /** @description Of the person. */
            name?: string;
            /** @description What the person is like. */
            personality?: string;
            hobbies?: string;
            /** @description How the person speaks, or wants to be spoken to. */
            speaking_style?: string;
        };
        ProfileMeta: {
            /**
             * Format: uuid
             * @description Id of the note that holds it.
             */
            note: string;
            /** @description As in the profile. */
            meta: {
                [key: string]: unknown;
            };
            revision: components["schemas"]["Revision"];
        };
        ProfileDay: {
            /**
             * Format: uuid
             * @description Id of the profile's note.
             */
            note: string;
            /**
             * Format: date
             * @description The day, in the zone of the messages.
             */
            date: string;
            /** @description What the day showed, in words. */
            content: string;
            /** @description Traits of the person. */
            traits?: string[];
            /** @description How the person felt. */
            mood?: string;
            /** @description How to answer such a person. */
            reply_strategy?: string;
            /**
             * @description Who wrote it.
             * @enum {string}
             */
            analyst?: "model" | "heuristic";
        };
        /**
         * @description An agent, in the format of Letta's agent files.
         * @example {
         *       "agents": [
         *         {
         *           "id": "agent-0",
         *           "name": "Ada",
         *           "block_ids": [
         *             "block-0"
         *           ],
         *           "messages": [
         *             {
         *               "id": "message-0",
         *               "role": "user",
         *               "content": [
         *                 {
         *                   "type": "text",
         *                   "text": "I moved to Lisbon."
         *                 }
         *               ],
         *               "created_at": "2026-03-01T09:30:00Z"
         *             }
         *           ]
         *         }
         *       ],
         *       "blocks": [
         *         {
         *           "id": "block-0",
         *           "label": "human",
         *           "value": "Lives in Lisbon.",
         *           "limit": 5000
         *         }
         *       ],
         *       "tools": []
         *     }
         */
        AgentFile: {
            [key: string]: unknown;
        };
        AgentFileReport: {
            /** @description Its name in the file. */
            agent: string;
            /** @description Labels of the blocks that were written. */
            blocks: string[];
            /** @description Lines of the job: messages, and the summary of those that have left the window. */
            messages: number;
            /** @description Lines of the job: passages and notes. */
            passages: number;
            /** @description Tool rules and approvals that hold now. */
            tool_rules: number;
            /** @description Tools of the file that the agent has here. */
            tools: string[];
            /** @description What was left out, or is not as it was. */
            not_carried: components["schemas"]["NotCarried"][];
            job: components["schemas"]["JobRef"];
        };
        NotCarried: {
            /** @description Where it is in the file. */
            path: string;
            reason: string;
        };
        /**
         * @description One person, in the format of MemoryBank's published data.
         * @example {
         *       "name": "Ada",
         *       "history": {
         *         "2026-03-01": [
         *           {
         *             "query": "I moved to Lisbon.",
         *             "response": "How do you like it?"
         *           }
         *         ]
         *       }
         *     }
         */
        BankDocument: {
            [key: string]: unknown;
        };
        /** @description Counts of what was written, and what was skipped and why. */
        BankReport: {
            [key: string]: unknown;
        };
        /**
         * @description Exactly one of `message` and `messages`.
         * @example {
         *       "message": "Where do I live now?",
         *       "remember": false
         *     }
         */
        ChatRequest: {
            /** @description The user's message, at most 64 KiB. */
            message?: string;
            /** @description The current dialogue; the last message is answered. */
            messages?: components["schemas"]["Message"][];
            /**
             * @description Answer with server-sent events.
             * @default false
             */
            stream?: boolean;
            /** @description Name of a model in the gateway's settings; default the collection's. */
            model?: string;
            /**
             * @description Maximum tokens of the context from memory.
             * @default 2000
             */
            token_budget?: number;
            /**
             * Format: double
             * @description Answer without memory when `answerable` is lower. Without a model a reply shows what is found only if it belongs to the question.
             */
            min_answerable?: number;
            /**
             * @description Store the question and the answer in the collection; this requires `notes:write`.
             * @default true
             */
            remember?: boolean;
        };
        ChatAnswer: {
            /** @description The reply. */
            reply: string;
            /** @description Sources of the context: `[1]` is the first. */
            citations: components["schemas"]["Citation"][];
            /** @description Tokens of the context from memory. */
            tokens: number;
            /** @description The model that answered; absent if none did. */
            model?: string;
            /** @description No model answered: the reply quotes memory. */
            offline?: boolean;
            /** @description The exchange will be stored. */
            remembered: boolean;
            /**
             * Format: uuid
             * @description The run that answered, in the memory of an agent.
             */
            run?: string;
            usage?: components["schemas"]["ChatUsage"];
            /**
             * Format: double
             * @description How well what was found fits the question, 0..1; low values mean that the collection may not have the answer. Absent if nothing was found or words alone answered.
             */
            answerable?: number;
            /** @description Why nothing of what was found is shown; absent if it is. */
            withheld?: string;
            /** @description Why parts of the search failed; absent if none did. */
            degraded?: string;
        };
        /** @description Tokens as the model counted them. */
        ChatUsage: {
            /**
             * Format: int64
             * @description Of the request, including the context.
             */
            prompt_tokens: number;
            /**
             * Format: int64
             * @description Of the reply.
             */
            completion_tokens: number;
        };
        ChatDelta: {
            /** @description The next piece of the reply. */
            text: string;
        };
        /**
         * @description A request of OpenAI's chat completions; fields that are not listed here are passed on.
         * @example {
         *       "model": "slipbox@research",
         *       "messages": [
         *         {
         *           "role": "user",
         *           "content": "Where do I live now?"
         *         }
         *       ]
         *     }
         */
        ChatCompletionRequest: {
            /** @description The dialogue; the context from memory is added to it. Messages in the forms that `MessageInput` names are translated. */
            messages: {
                [key: string]: unknown;
            }[];
            /** @description Name of a model, and a collection after an `@`. */
            model?: string;
            /** @description Answer with server-sent events. */
            stream?: boolean | null;
        } & {
            [key: string]: unknown;
        };
        /** @description An answer of OpenAI's chat completions. */
        ChatCompletion: {
            [key: string]: unknown;
        };
        /**
         * @description A request of OpenAI's responses; fields that are not listed here are translated, refused or passed on.
         * @example {
         *       "model": "slipbox@research",
         *       "input": "Where do I live now?"
         *     }
         */
        ResponseRequest: {
            /** @description A text, or a list of items: the dialogue. */
            input: string | {
                [key: string]: unknown;
            }[];
            /** @description Name of a model, and a collection after an `@`. */
            model?: string;
            /** @description For the model; not stored. */
            instructions?: string | null;
            /** @description Answer with server-sent events. */
            stream?: boolean | null;
        } & {
            [key: string]: unknown;
        };
        /** @description A response of OpenAI's responses. */
        Response: {
            [key: string]: unknown;
        };
        /**
         * @description A request of OpenAI's embeddings; fields that are not listed here are ignored.
         * @example {
         *       "model": "slipbox",
         *       "input": [
         *         "I live in Lisbon."
         *       ]
         *     }
         */
        EmbeddingRequest: {
            /** @description A text, or a list of texts; none blank, at most 131,072 bytes together. */
            input: string | string[];
            /** @description `slipbox`, which is also the default. */
            model?: string;
            /**
             * @description `base64` is that of float32, little-endian.
             * @default float
             * @enum {string|null}
             */
            encoding_format?: "float" | "base64" | null;
            /** @description Must be the length of the embedder's vectors. */
            dimensions?: number | null;
        } & {
            [key: string]: unknown;
        };
        EmbeddingList: {
            /** @description `list`. */
            object: string;
            data: components["schemas"]["EmbeddingItem"][];
            model: string;
            usage: components["schemas"]["EmbeddingUsage"];
        };
        EmbeddingItem: {
            /** @description `embedding`. */
            object: string;
            /** @description Position of the text. */
            index: number;
            /** @description Numbers, or a text in base64. */
            embedding: unknown;
        };
        /** @description Estimated tokens of the texts. */
        EmbeddingUsage: {
            prompt_tokens: number;
            total_tokens: number;
        };
        ModelList: {
            /** @enum {string} */
            object: "list";
            data: components["schemas"]["ModelName"][];
        };
        ModelName: {
            /** @description Name for `model` of a request. */
            id: string;
            /** @enum {string} */
            object: "model";
            /**
             * Format: int64
             * @description When the gateway was started, in seconds since 1970.
             */
            created: number;
            owned_by: string;
        };
        OpenAIError: {
            error: components["schemas"]["OpenAIErrorBody"];
        };
        OpenAIErrorBody: {
            message: string;
            /** @description Such as `invalid_request_error` or `server_error`. */
            type: string;
            /** @description The invalid field. */
            param?: string | null;
            /** @description A code as elsewhere, `model_not_found` or `model_not_configured`. */
            code?: string | null;
        };
        /**
         * @description Visible characters and spaces on one line, in any script, not beginning or ending with
         *     a space. Unique in the collection.
         * @example human
         */
        Label: string;
        Block: {
            /**
             * Format: uuid
             * @description Id of its note.
             */
            id: string;
            label: components["schemas"]["Label"];
            /** @description May be empty. */
            value: string;
            /** @description What belongs in the block; shown to the model. May be empty. */
            description: string;
            /** @description Characters (code points) that the value may have. */
            limit: number;
            read_only: boolean;
            /** @description Where this version begins. */
            version: components["schemas"]["Revision"];
            metadata: components["schemas"]["Attributes"];
            /** @description Collections that show this stand-alone block, as far as the caller reaches them. */
            attached: string[];
        };
        BlockList: {
            items: components["schemas"]["Block"][];
            next_cursor?: string;
            revision: components["schemas"]["Revision"];
        };
        /**
         * @example {
         *       "value": "Ada, lives in Lisbon.",
         *       "description": "What is known about the person.",
         *       "limit": 2000
         *     }
         */
        BlockInput: {
            /** @description At most `limit` characters and 64 KiB. Default empty. */
            value?: string;
            /** @description At most 8 KiB. Default empty. */
            description?: string;
            /** @description Characters that the value may have. Default 5000. */
            limit?: number;
            /** @description Default `false`. */
            read_only?: boolean;
            metadata?: components["schemas"]["Attributes"];
        };
        FolderInput: {
            name: components["schemas"]["Name"];
            display_name?: components["schemas"]["DisplayName"];
            /** @description Its owner; default the caller's agent, or else all agents of the tenant. */
            agent?: components["schemas"]["Ref"];
            /** @description Name of the embedder of its files; default the gateway's. */
            embedder?: string;
        };
        FolderRef: {
            folder: components["schemas"]["Ref"];
        };
        Folder: {
            /** Format: uuid */
            id: string;
            name: components["schemas"]["Name"];
            display_name?: string;
            /** @description Name of its owner; absent when all agents of the tenant read it. */
            agent?: string;
            embedder: string;
            /** @description How many files it has. */
            files: number;
            /** @description Collections that it is attached to, as far as the caller reaches them. */
            attached: string[];
            /** Format: date-time */
            created_at: string;
        };
        FolderList: {
            items: components["schemas"]["Folder"][];
            next_cursor?: string;
        };
        File: {
            /** Format: uuid */
            id: string;
            name: string;
            /** @example application/pdf */
            media_type: string;
            /** Format: int64 */
            bytes: number;
            /**
             * Format: int64
             * @description Of its text; 0 until it is ready.
             */
            tokens: number;
            /**
             * Format: int64
             * @description Passages of its text.
             */
            chunks: number;
            /**
             * Format: int64
             * @description 1 for formats without pages.
             */
            pages: number;
            /** @enum {string} */
            state: "queued" | "running" | "ready" | "failed";
            /** @description Why it could not be read. */
            error?: string;
            /**
             * Format: date-time
             * @description When it expires; absent: never.
             */
            expires_at?: string;
            /** Format: date-time */
            created_at: string;
        };
        FileAccepted: {
            file: components["schemas"]["File"];
            /** @description Reads the file; absent where it was read already. */
            job?: components["schemas"]["JobRef"];
        };
        FileList: {
            items: components["schemas"]["File"][];
            next_cursor?: string;
            revision: components["schemas"]["Revision"];
        };
        /**
         * @example {
         *       "label": "organisation",
         *       "value": "We ship on Fridays.",
         *       "description": "What everybody here knows."
         *     }
         */
        SharedBlockInput: {
            label: components["schemas"]["Label"];
            /** @description At most `limit` characters and 64 KiB. Default empty. */
            value?: string;
            /** @description At most 8 KiB. Default empty. */
            description?: string;
            /** @description Characters that the value may have. Default 5000. */
            limit?: number;
            /** @description Default `false`. */
            read_only?: boolean;
            metadata?: components["schemas"]["Attributes"];
        };
        SharedBlockPatch: {
            label?: components["schemas"]["Label"];
            value?: string;
            description?: string;
            limit?: number;
            read_only?: boolean;
            metadata?: components["schemas"]["Attributes"];
        };
        BlockAttach: {
            /**
             * Format: uuid
             * @description Id of a stand-alone block.
             */
            block: string;
            /**
             * @description Whether this collection edits the block, or only reads it.
             * @default rw
             * @enum {string}
             */
            mode?: "rw" | "ro";
        };
        BlockAppend: {
            text: string;
        };
        BlockReplace: {
            /** @description Exactly as it is in the block. */
            old: string;
            /** @description Empty to delete it. */
            new: string;
        };
        BlockInsert: {
            text: string;
            /**
             * @description Behind how many lines: 0 before the first one, -1 at the end.
             * @default -1
             */
            line?: number;
        };
        ToolList: {
            items: components["schemas"]["Tool"][];
        };
        Tool: {
            /** @enum {string} */
            type: "function";
            function: components["schemas"]["ToolFunction"];
        };
        ToolFunction: {
            /** @example core_memory_append */
            name: string;
            description: string;
            /** @description JSON schema of the arguments. */
            parameters: {
                [key: string]: unknown;
            };
        };
        /** @description Id or name. */
        ToolName: string;
        /**
         * @example {
         *       "name": "forecast",
         *       "description": "The weather of the next days in a city.",
         *       "parameters": {
         *         "type": "object",
         *         "properties": {
         *           "city": {
         *             "type": "string"
         *           }
         *         },
         *         "required": [
         *           "city"
         *         ]
         *       }
         *     }
         */
        OwnToolInput: {
            /**
             * @description By which models call it; unique in the tenant, and none of the memory tools.
             * @example forecast
             */
            name: string;
            /** @description What it does and when to call it, for models. */
            description: string;
            /**
             * @description JSON schema (draft 2020-12) of the arguments, an object; default without arguments. References are to the schema
             *     itself and not recursive; nothing is loaded.
             */
            parameters?: {
                [key: string]: unknown;
            };
        };
        OwnToolPatch: {
            /** @description What it does and when to call it, for models. */
            description?: string;
            /**
             * @description JSON schema (draft 2020-12) of the arguments, an object; default without arguments. References are to the schema
             *     itself and not recursive; nothing is loaded.
             */
            parameters?: {
                [key: string]: unknown;
            };
        };
        OwnTool: {
            /** Format: uuid */
            id: string;
            name: string;
            description: string;
            parameters: {
                [key: string]: unknown;
            };
            /** @description Collections that it is attached to, as far as the caller reaches them. */
            attached: string[];
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        /** @enum {string} */
        WebhookEvent: "note.added" | "note.changed" | "note.deleted" | "link.added" | "link.changed" | "link.deleted";
        WebhookInput: {
            url: string;
            /** @description Id or name of the collection whose changes are told; absent: all of the tenant. */
            collection?: string;
            /** @description Absent: all. */
            events?: components["schemas"]["WebhookEvent"][];
        };
        WebhookPatch: {
            url?: string;
            events?: components["schemas"]["WebhookEvent"][] | null;
            rotate_secret?: boolean;
        };
        Webhook: {
            /** Format: uuid */
            id: string;
            url: string;
            /**
             * Format: uuid
             * @description Absent: all.
             */
            collection?: string;
            /** @description Those that it is told of. */
            events: components["schemas"]["WebhookEvent"][];
            /** @description `whsec_` and the key in base64: only in the answer that made it. */
            secret?: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        WebhookList: {
            items: components["schemas"]["Webhook"][];
            next_cursor?: string;
        };
        /** @enum {string} */
        DeliveryState: "waiting" | "delivered" | "dead";
        /** @description A message that was sent at least once; `id` is its `Webhook-Id`. */
        Delivery: {
            /** Format: uuid */
            id: string;
            event: string;
            /** Format: uuid */
            collection: string;
            revision: components["schemas"]["Revision"];
            state: components["schemas"]["DeliveryState"];
            attempts: number;
            /** @description Of the last answer; absent: there was none. */
            status?: number;
            /** @description Why the last try failed. */
            error?: string;
            /** Format: date-time */
            created_at: string;
            /**
             * Format: date-time
             * @description Of the last try.
             */
            updated_at: string;
            /**
             * Format: date-time
             * @description Of the next try.
             */
            next_at?: string;
        };
        DeliveryList: {
            items: components["schemas"]["Delivery"][];
            next_cursor?: string;
        };
        OwnToolList: {
            items: components["schemas"]["OwnTool"][];
            next_cursor?: string;
        };
        OwnToolRef: {
            tool: components["schemas"]["ToolName"];
        };
        /**
         * @example {
         *       "tool": "core_memory_append",
         *       "arguments": {
         *         "label": "human",
         *         "content": "Name: Nora."
         *       }
         *     }
         */
        StepRequest: {
            /**
             * @description Name of a tool.
             * @example core_memory_append
             */
            tool: string;
            /** @description An object, or the JSON text of one, as a model returns it. */
            arguments?: string | Record<string, never>;
        };
        StepAnswer: {
            /** @description Whether the tool has done what it was called for. */
            ok: boolean;
            /** @description What it returned, for the model. Bounded by the window; a notice says when it was cut. */
            result?: string;
            /** @description Why it failed, for the model. */
            error?: string;
            /** @description The model is to act again: it asked for it (`request_heartbeat`), or the tool failed. */
            heartbeat: boolean;
            /** @description Of the result or the error. */
            tokens: number;
            revision: components["schemas"]["Revision"];
        };
        /** @enum {string} */
        EventType: "message" | "alert" | "timer" | "heartbeat";
        /**
         * @example {
         *       "content": "My name is Nora.",
         *       "wait": "done"
         *     }
         */
        EventInput: {
            /** @description Default `message`. */
            type?: components["schemas"]["EventType"];
            /**
             * @default user
             * @enum {string}
             */
            role?: "user" | "system" | "developer";
            /** @description Name of the speaker. */
            name?: string;
            /** @description Required for a message and an alert; at most 64 KiB, 8 KiB with `at`. */
            content?: string;
            /** @description A name or number that identifies the conversation. */
            session?: string | number;
            /**
             * Format: date-time
             * @description When a timer or heartbeat starts its run; within a year.
             */
            at?: string;
            /**
             * @default none
             * @enum {string}
             */
            wait?: "none" | "done";
            /**
             * @description Get the model's turns piece by piece, and show them to those who follow the run. Not with `at`.
             * @default false
             */
            stream?: boolean;
        };
        FlushRequest: {
            /**
             * @description Also while the window is not full.
             * @default false
             */
            force?: boolean;
        };
        /**
         * @example {
         *       "minutes": 60
         *     }
         */
        PauseRequest: {
            /** @description From now on; 0 ends the pause. */
            minutes: number;
        };
        Heartbeats: {
            /** @description How long nothing has happened when one comes. */
            every_minutes: number;
            /** Format: date-time */
            paused_until: string;
        };
        EventAccepted: {
            /**
             * Format: uuid
             * @description Absent for an event with `at`.
             */
            run?: string;
            job?: components["schemas"]["JobRef"];
            revision: components["schemas"]["Revision"];
        };
        RunDelta: {
            /** @description Index of the step that says it. */
            step: number;
            /** @description The next piece. */
            text: string;
        };
        RunRestart: {
            /** @description Index of the step whose pieces do not count. */
            step: number;
            reason: string;
        };
        /**
         * @description `requires_action`: it waits for answers to `required_calls`. `expired`: they did not come within `policy_config.max_wait_seconds`;
         *     the agent reads so in its next run. A run that a fork has inherited without its end is `cancelled` there.
         * @enum {string}
         */
        RunState: "queued" | "running" | "requires_action" | "done" | "failed" | "expired" | "cancelled";
        /**
         * @description `terminal_tool`: the agent has spoken. `text`: the model answered without a tool. `no_heartbeat`: its last tool
         *     asked for no further step. `max_steps`, `budget`, `deadline`: a bound of `policy_config`. `loop`: the same call
         *     again and again. `requires_action`: calls wait for the caller. `expired`: no answer came. `error`: the model failed.
         * @enum {string}
         */
        StopReason: "terminal_tool" | "text" | "no_heartbeat" | "max_steps" | "budget" | "deadline" | "loop" | "requires_action" | "expired" | "error" | "cancelled";
        StepTokens: {
            /** Format: int64 */
            prompt: number;
            /** Format: int64 */
            completion: number;
        };
        Run: {
            /**
             * Format: uuid
             * @description Also the id of the event's message.
             */
            id: string;
            type: components["schemas"]["EventType"];
            state: components["schemas"]["RunState"];
            stop_reason?: components["schemas"]["StopReason"];
            /** @description What the agent has said. */
            reply?: string;
            /** @description Why the last try failed. */
            error?: string;
            /** @description It was answered without a model, as there is none. */
            heuristic: boolean;
            /** @description What it waits for, in the state `requires_action`; absent in a list. */
            required_calls?: components["schemas"]["WaitingCall"][];
            /**
             * Format: date-time
             * @description In the state `requires_action`: until when it waits.
             */
            expires_at?: string;
            /** @description Empty in a list. */
            steps: components["schemas"]["RunStep"][];
            tokens: components["schemas"]["StepTokens"];
            /**
             * Format: uuid
             * @description Its newest job.
             */
            job?: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            ended_at?: string;
        };
        RunList: {
            items: components["schemas"]["Run"][];
            next_cursor?: string;
            revision: components["schemas"]["Revision"];
        };
        RunStep: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            run: string;
            /** @description Of the model's turn, from 1. Calls of one turn have the same. */
            index: number;
            event: components["schemas"]["EventType"];
            /** @description Absent for a turn that calls nothing; its text is then the result. */
            tool?: string;
            /** @description As the model wrote them. */
            arguments?: Record<string, never>;
            /** @description For the model. Absent while the call has not run. */
            result?: string;
            ok: boolean;
            /**
             * Format: int64
             * @description Of the tool; of the model for a turn that calls nothing.
             */
            duration_ms: number;
            /** @description Of the turn, in its first step. */
            tokens: components["schemas"]["StepTokens"];
            /** Format: date-time */
            at: string;
        };
        StepList: {
            items: components["schemas"]["RunStep"][];
        };
        ToolCall: {
            /** Format: uuid */
            run: string;
            tool: string;
            arguments: Record<string, never>;
            answer: components["schemas"]["CallAnswer"];
        };
        /**
         * @description `result`: the caller runs the tool. `approval`: a tool of the gateway waits to be allowed (`policy_config.approve`).
         * @enum {string}
         */
        CallAnswer: "result" | "approval";
        WaitingCall: {
            /**
             * Format: uuid
             * @description Also the id of its review, and of its step.
             */
            id: string;
            /** Format: uuid */
            run: string;
            tool: string;
            arguments: Record<string, never>;
            answer: components["schemas"]["CallAnswer"];
            /** Format: date-time */
            created_at: string;
        };
        WaitingCallList: {
            items: components["schemas"]["WaitingCall"][];
        };
        /**
         * @description For a call whose `answer` is `result`, either `result` or `error`. For one whose `answer` is `approval`, `approve`, and `error`
         *     as the reason of a denial.
         */
        CallResult: {
            /** Format: uuid */
            call: string;
            /** @description What the tool returned: text, or JSON as text. The model sees as much as of other results. */
            result?: string;
            /** @description Why the tool failed, or the call is denied. The model reads it. */
            error?: string;
            approve?: boolean;
        };
        CallResults: {
            results: components["schemas"]["CallResult"][];
            /**
             * @description `done`: answer when the run has ended or waits again. Default `none`.
             * @enum {string}
             */
            wait?: "none" | "done";
        };
        MainContext: {
            /** @description Tokens that the model's window has. */
            window: number;
            /** @description Tokens of all parts. */
            used: number;
            parts: components["schemas"]["MainPart"][];
        };
        MainPart: {
            /** @enum {string} */
            part: "system" | "counts" | "blocks" | "files" | "summary" | "messages" | "tools";
            tokens: number;
        };
        /** @enum {string} */
        Kind: "note" | "message" | "fact" | "entity" | "summary" | "session" | "block" | "passage" | "profile" | "knowledge" | "file";
        /**
         * @description `raw`: no policy has run. `evolved`: its job has ended, with or without changes.
         *     `pending`: a model or embedder call failed; it is tried again within 30 s, then with pauses
         *     that grow up to an hour, until it succeeds. `in_review`: a proposal
         *     waits.
         * @enum {string}
         */
        NoteState: "raw" | "evolved" | "pending" | "in_review";
        /**
         * @example {
         *       "content": "Ada moved to Lisbon in March and works on tide models.",
         *       "tags": [
         *         "people"
         *       ]
         *     }
         * @example {
         *       "content": "func Sum(n ...int) int",
         *       "item": {
         *         "type": "code",
         *         "language": "Go",
         *         "name": "sum.go",
         *         "description": "Adds numbers."
         *       }
         *     }
         */
        NoteInput: {
            /** @description Text, at most 64 KiB as it is stored. Thinking of a model and `data:` addresses become a mark (`[left out: …]`). Required, unless `item` is an image. */
            content?: string;
            /** @description One sentence about it, at most 8 KiB. Values of the request are not replaced by analysis. */
            context?: string;
            keywords?: string[];
            tags?: string[];
            /** @default Uncategorized */
            category?: string;
            attributes?: components["schemas"]["Attributes"];
            item?: components["schemas"]["Item"];
            /**
             * Format: double
             * @default 0.5
             */
            importance?: number;
            occurred_at?: components["schemas"]["EventTime"];
            expires_at?: components["schemas"]["ExpiresAt"];
            ttl_seconds?: components["schemas"]["TTL"];
            /** @default note */
            kind?: components["schemas"]["Kind"];
            /**
             * @description `false` stores the note without running the policy.
             * @default true
             */
            infer?: boolean;
            on_duplicate?: components["schemas"]["OnDuplicate"];
        };
        /**
         * @description Says that the note is an image, code or the result of a function. It is kept in `attributes.item`. Its type, name,
         *     language and description, in one line, become the note's `context`, unless the request has one. The content of an
         *     image is by default its description. Where the collection's embedder takes images, an image is found by what is on
         *     it, and needs no words.
         */
        Item: {
            /** @enum {string} */
            type: "image" | "code" | "function_result";
            /** @description A `data:` URL of at most 12 KiB, or an `https:` URL. Required of an image without a description. */
            url?: string;
            /** @description Such as `image/png`. */
            media_type?: string;
            /** @description Of code. */
            language?: string;
            /** @description Of a file or function. */
            name?: string;
            /** @description What it is, or shows, in one sentence. */
            description?: string;
        };
        /** @description A `NoteInput` with an idempotency key of its own. */
        BulkNote: {
            /** @description Makes the line safe to repeat for 24 hours. */
            key?: string;
            content?: string;
            context?: string;
            keywords?: string[];
            tags?: string[];
            /** @default Uncategorized */
            category?: string;
            attributes?: components["schemas"]["Attributes"];
            item?: components["schemas"]["Item"];
            /**
             * Format: double
             * @default 0.5
             */
            importance?: number;
            occurred_at?: components["schemas"]["EventTime"];
            expires_at?: components["schemas"]["ExpiresAt"];
            ttl_seconds?: components["schemas"]["TTL"];
            /** @default note */
            kind?: components["schemas"]["Kind"];
            /** @default true */
            infer?: boolean;
            on_duplicate?: components["schemas"]["OnDuplicate"];
        };
        /**
         * @description What happens when the collection has the same note already: one with the same bytes as content, of the same kind, speaker (`role`, `name`, `speaker`), session and event day. `return`, the default, answers that note and writes nothing; `keep` stores another one. Lines with a natural key and messages with an `id` are known by these.
         * @enum {string}
         */
        OnDuplicate: "return" | "keep";
        /**
         * @description A note from elsewhere. `timestamp`, `retrieval_count`, `last_accessed` and
         *     `evolution_history` are the public A-MEM names of `occurred_at`, `usage.access_count`,
         *     `usage.last_access` and `history`.
         */
        ImportNote: {
            /** Format: uuid */
            id: string;
            key?: string;
            /** @default note */
            kind?: components["schemas"]["Kind"];
            /** @description Only a block may be empty. */
            content: string;
            context?: string;
            keywords?: string[];
            tags?: string[];
            category?: string;
            attributes?: components["schemas"]["Attributes"];
            item?: components["schemas"]["Item"];
            /**
             * @description `evolved`: the policy has processed it. By default so if keywords, tags or context are set.
             * @enum {string}
             */
            state?: "raw" | "evolved";
            /** @description Of keywords, tags and context, those that analysis must not change. By default those that are set. */
            supplied?: ("keywords" | "tags" | "context")[];
            /**
             * @description Who described it.
             * @enum {string}
             */
            analyst?: "model" | "heuristic";
            provenance?: components["schemas"]["ImportProvenance"];
            /** Format: double */
            importance?: number;
            occurred_at?: components["schemas"]["EventTime"];
            expires_at?: components["schemas"]["ExpiresAt"];
            ttl_seconds?: components["schemas"]["TTL"];
            timestamp?: components["schemas"]["EventTime"];
            created_at?: components["schemas"]["EventTime"];
            /** @description Ids of the linked notes, or links. */
            links?: (string | Record<string, never>)[];
            usage?: components["schemas"]["NoteUsage"];
            /** Format: int64 */
            retrieval_count?: number;
            last_accessed?: components["schemas"]["EventTime"];
            /** @description What earlier evolutions did; stored unchanged. */
            history?: unknown[];
            evolution_history?: unknown[];
        };
        HistoryReport: {
            understood: components["schemas"]["History"];
            job?: components["schemas"]["JobRef"];
        };
        History: {
            /** @description Such as chatgpt. */
            format: string;
            /** @description What it is, for people. */
            what: string;
            messages: number;
            notes: number;
            /** @description Conversations, or days of a chat. */
            sessions: number;
            /** @description Who speaks, most messages first. */
            people: components["schemas"]["HistoryPerson"][];
            /** Format: date-time */
            from?: string;
            /** Format: date-time */
            to?: string;
            /** @description What has no date that can be right, and gets that of the import. */
            undated: number;
            /** @description The first messages or notes, shortened. */
            first: components["schemas"]["HistoryLine"][];
            /** @description What is left out, and how often. */
            left: {
                [key: string]: number;
            };
            /** @description What the file does not say, and what was assumed. */
            doubts?: string[];
            /** @description The memory is of one person, several speak, and `me` names none of them. */
            ask_me: boolean;
        };
        HistoryPerson: {
            name: string;
            messages: number;
        };
        HistoryLine: {
            /** @description Absent for a note. */
            role?: string;
            name?: string;
            session?: string;
            content: string;
            /** Format: date-time */
            occurred_at?: string;
        };
        ImportProvenance: {
            /** @description Notes that it was derived from. */
            sources?: string[];
            /** @description Name of the agent from whose collection it was merged. */
            agent?: string;
            /** @description A source was deleted or has changed. */
            stale?: boolean;
        };
        /** @description Result of one line: `id` and `revision`, or `error`. */
        BulkResult: {
            /** @description From 1. */
            line: number;
            /** @description The HTTP status that the line would have as its own request. */
            status: number;
            /** Format: uuid */
            id?: string;
            revision?: components["schemas"]["Revision"];
            /** @description What was left out of an imported line, such as a link to a missing note. */
            warnings?: string[];
            error?: components["schemas"]["Problem"];
        };
        BulkEnd: {
            summary: components["schemas"]["BulkSummary"];
        };
        BulkSummary: {
            created: number;
            /** @description Lines whose note was there already (`on_duplicate`); absent if there are none. */
            existing?: number;
            failed: number;
        };
        NotePatch: {
            content?: string;
            context?: string | null;
            keywords?: string[] | null;
            tags?: string[] | null;
            category?: string | null;
            /** @description Merged by the same rule. */
            attributes?: {
                [key: string]: unknown;
            } | null;
            /** Format: double */
            importance?: number | null;
            occurred_at?: string | null;
            /** @description `null`: never. */
            expires_at?: string | null;
            /**
             * Format: int64
             * @description From now, in place of `expires_at`; `null`: it never expires.
             */
            ttl_seconds?: number | null;
        };
        Note: {
            /** Format: uuid */
            id: string;
            /**
             * Format: uuid
             * @description The collection that was read.
             */
            collection: string;
            kind: components["schemas"]["Kind"];
            content: string;
            /** @description May be empty. */
            context: string;
            keywords: string[];
            tags: string[];
            category?: string;
            attributes: {
                [key: string]: unknown;
            };
            /** Format: double */
            importance?: number;
            /**
             * Format: double
             * @description How sure a fact or knowledge is, 0 to 1: what its attribute `confidence` says; otherwise 0.8 if a model read it and 0.6 without one. Absent from other notes.
             */
            confidence?: number;
            /** Format: date-time */
            occurred_at?: string;
            /**
             * Format: date-time
             * @description When it expires; absent: never.
             */
            expires_at?: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            revision: components["schemas"]["Revision"];
            state: components["schemas"]["NoteState"];
            /** @description Why a pending note waits. */
            error?: string;
            /**
             * @description Who described it; absent if it is not described.
             * @enum {string}
             */
            analyst?: "model" | "heuristic";
            /** @description The outgoing links. */
            links: components["schemas"]["NoteLink"][];
            /** @description Embedder of this version's vector; absent while it has none. */
            embedder?: string;
            /** @description Only with `include=embedding`. */
            embedding?: number[];
            provenance?: components["schemas"]["Provenance"];
            usage?: components["schemas"]["NoteUsage"];
        };
        NoteLink: {
            /** Format: uuid */
            target: string;
            relation: string;
            /** Format: double */
            confidence: number;
        };
        Provenance: {
            /** @description Notes that it was derived from. */
            sources?: string[];
            actor?: string;
            /** @description Of a note that was merged from a collection of an agent: the name of the agent whose knowledge it is. */
            agent?: string;
            /** Format: uuid */
            job?: string;
            /** @description A source was deleted or has changed, or an association that it depends on was undone. */
            stale?: boolean;
        };
        /** @description Recalls by clients; internal reads do not count. */
        NoteUsage: {
            /** Format: int64 */
            access_count: number;
            /** Format: date-time */
            last_access?: string;
            /**
             * Format: double
             * @description The strength S of forgetting. It is 1, or what was imported, plus 1 for each recall.
             */
            strength: number;
        };
        NoteCreated: {
            note: components["schemas"]["Note"];
            revision: components["schemas"]["Revision"];
            job?: components["schemas"]["JobRef"];
        };
        NoteList: {
            items: components["schemas"]["Note"][];
            next_cursor?: string;
            revision: components["schemas"]["Revision"];
        };
        RestoreRequest: {
            /** @description Revision at which the wanted version begins, as in the history. */
            revision: components["schemas"]["Revision"];
        };
        /**
         * @description Read this revision instead of the head: its number, a time (RFC 3339), or the name of a snapshot. Several collections are read at a time, or at a snapshot that each has by this name.
         * @example 42
         * @example 2026-01-31T12:00:00Z
         * @example before the trip
         */
        AsOf: number | string;
        /**
         * @description A revision, a time (RFC 3339) or the name of a snapshot.
         * @example before the trip
         */
        RevisionName: string;
        ViewRef: {
            /** Format: uuid */
            collection: string;
            revision: components["schemas"]["Revision"];
        };
        /** @enum {string} */
        ChangeKind: "added" | "removed" | "changed";
        NoteChange: {
            /** Format: uuid */
            note: string;
            change: components["schemas"]["ChangeKind"];
            /** @description Of a changed note, what differs; an attribute by its path. */
            fields: string[];
            before?: components["schemas"]["Note"];
            after?: components["schemas"]["Note"];
        };
        /** @description What one changeset did. */
        Change: {
            revision: components["schemas"]["Revision"];
            /** Format: date-time */
            at: string;
            actor: string;
            /** Format: uuid */
            job?: string;
            /** @description As in `HistoryEntry`. */
            cause: string;
            notes: components["schemas"]["ChangedNote"][];
            links: components["schemas"]["LinkChange"][];
        };
        ChangeList: {
            items: components["schemas"]["Change"][];
            /**
             * Format: int64
             * @description The revision to pass as `after` to the next request.
             */
            next: number;
        };
        ChangedNote: {
            /** Format: uuid */
            id: string;
            change: components["schemas"]["ChangeKind"];
            text?: components["schemas"]["Beginning"];
        };
        /** @description How the note begins, in at most 200 characters: as it is, or as it was before it was removed. Absent where it cannot be read. */
        Beginning: string;
        LinkChange: {
            /** Format: uuid */
            source: string;
            /** Format: uuid */
            target: string;
            relation: string;
            change: components["schemas"]["ChangeKind"];
            source_text?: components["schemas"]["Beginning"];
            target_text?: components["schemas"]["Beginning"];
        };
        Diff: {
            from: components["schemas"]["ViewRef"];
            to: components["schemas"]["ViewRef"];
            base: components["schemas"]["ViewRef"];
            items: components["schemas"]["NoteChange"][];
            links: components["schemas"]["LinkChange"][];
            next_cursor?: string;
        };
        MergeRequest: {
            from: components["schemas"]["Ref"];
            /**
             * @description Whose value holds where both changed one field.
             * @default fail
             * @enum {string}
             */
            strategy?: "fail" | "ours" | "theirs";
            /** @description Only these notes, and their links. */
            notes?: string[];
            /** @description Only notes of these kinds. */
            kinds?: components["schemas"]["Kind"][];
            /**
             * Format: double
             * @description Only notes whose attribute `confidence` is at least this.
             */
            min_confidence?: number;
            /**
             * Format: int64
             * @description Only notes that were made at least so long ago.
             */
            min_age_seconds?: number;
            /**
             * @description Write nothing; answer what a merge would do.
             * @default false
             */
            dry_run?: boolean;
            /**
             * @description Propose the changes instead; the answer is 202 with the review.
             * @default false
             */
            review?: boolean;
            /**
             * @description `none` answers 202 with a job. So does a merge that touches more than 10,000 notes.
             * @default done
             * @enum {string}
             */
            wait?: "none" | "done";
            /**
             * Format: double
             * @description With `review`: new notes whose attribute `confidence` is at least this are merged at once.
             */
            approve_from?: number;
        };
        /** @description A field that both sides changed, each to another value; `deleted` when one side deleted the note. */
        MergeConflict: {
            /** Format: uuid */
            note: string;
            /**
             * @example content
             * @example attributes.city
             * @example deleted
             */
            field: string;
            /** @description The value that both come from; null: none. */
            base: unknown;
            /** @description The value of this collection. */
            ours: unknown;
            /** @description The value of the other one. */
            theirs: unknown;
        };
        MergeResult: {
            revision: components["schemas"]["Revision"];
            merged: {
                notes: number;
                links: number;
            };
            conflicts: components["schemas"]["MergeConflict"][];
            review?: components["schemas"]["Review"];
            /** @description Reviews of merges from the same collection that were open; `review` takes their place, and they are rejected. */
            replaced?: string[];
            job?: components["schemas"]["Job"];
        };
        RollbackRequest: {
            /**
             * @description `none` answers 202 with a job. So does a rollback that touches more than 10,000 notes.
             * @default done
             * @enum {string}
             */
            wait?: "none" | "done";
            revision?: components["schemas"]["Revision"];
            /** Format: date-time */
            at?: string;
            snapshot?: string;
        };
        RollbackResult: {
            revision: components["schemas"]["Revision"];
            /** @description Notes that were restored, changed back or deleted. */
            changed: number;
            job?: components["schemas"]["Job"];
        };
        SnapshotRequest: {
            /** @description Begins with a letter; without a slash. */
            name: string;
            /** @description A revision, a time (RFC 3339) or the name of a snapshot. Default the head. */
            revision?: components["schemas"]["AsOf"];
        };
        Snapshot: {
            name: string;
            revision: components["schemas"]["Revision"];
            /** Format: date-time */
            created_at: string;
        };
        SnapshotList: {
            items: components["schemas"]["Snapshot"][];
        };
        FieldOrigin: {
            revision: components["schemas"]["Revision"];
            /** Format: date-time */
            at: string;
            actor: string;
            /** @description Of a merge from a collection of an agent: the name of the agent. */
            agent?: string;
            /** @description As in the history of a note. */
            cause: string;
            /** Format: uuid */
            job?: string;
            /**
             * Format: uuid
             * @description The note that caused the change.
             */
            trigger?: string;
            trigger_text?: components["schemas"]["Beginning"];
        };
        Blame: {
            text?: components["schemas"]["Beginning"];
            fields: {
                [key: string]: components["schemas"]["FieldOrigin"];
            };
        };
        /** @description A version with the change that made it; a deletion has `deleted` instead of `note`. */
        HistoryEntry: {
            revision: components["schemas"]["Revision"];
            /** Format: date-time */
            changed_at: string;
            actor: string;
            /** @description Cause of the change: `add`, `patch`, `delete`, `restore`, `link`, `analyze`, `evolve`, `review`, `undo`, `consolidate`, `import`, `mark`, `extract`, `summarize`, `forget`, `config`, `reembed`, `refresh`, `adopt`, `merge`, `rollback`. */
            cause: string;
            /** Format: uuid */
            job?: string;
            /**
             * Format: uuid
             * @description The note whose add or change caused it.
             */
            trigger?: string;
            note?: components["schemas"]["Note"];
            deleted?: boolean;
        };
        HistoryList: {
            items: components["schemas"]["HistoryEntry"][];
            next_cursor?: string;
            revision: components["schemas"]["Revision"];
        };
        LinkInput: {
            /** Format: uuid */
            target: string;
            /** @default related */
            relation?: string;
            /**
             * Format: double
             * @default 1
             */
            confidence?: number;
            /** @description Free JSON, at most 16 KiB. */
            attributes?: {
                [key: string]: unknown;
            };
        };
        LinksInput: {
            links: components["schemas"]["LinkInput"][];
        };
        Link: {
            /** Format: uuid */
            source: string;
            /** Format: uuid */
            target: string;
            relation: string;
            /** Format: double */
            confidence: number;
            attributes?: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            created_at?: string;
        };
        LinkList: {
            items: components["schemas"]["Link"][];
            revision: components["schemas"]["Revision"];
        };
        Graph: {
            nodes: components["schemas"]["GraphNode"][];
            /** @description Links between two of the nodes. */
            links: components["schemas"]["Link"][];
            /** @description There are more nodes than `limit`. */
            truncated?: boolean;
            revision: components["schemas"]["Revision"];
        };
        GraphNode: {
            /** Format: uuid */
            id: string;
            kind: components["schemas"]["Kind"];
            content: string;
            context: string;
            keywords: string[];
            tags: string[];
            category?: string;
            state: components["schemas"]["NoteState"];
            /** @description Links from the center. */
            distance?: number;
        };
        /** @enum {string} */
        SearchMode: "hybrid" | "vector" | "lexical";
        /**
         * @description `model` has a model judge the relevance of the hits; `endpoint` has the reranker of the settings order them, and `degraded` says when it did not.
         * @enum {string}
         */
        RerankMode: "none" | "model" | "endpoint";
        /**
         * @description A field of a `Note`; `*` is all of them but `embedding`.
         * @enum {string}
         */
        NoteField: "*" | "id" | "collection" | "kind" | "content" | "context" | "keywords" | "tags" | "category" | "attributes" | "importance" | "confidence" | "occurred_at" | "expires_at" | "created_at" | "updated_at" | "revision" | "state" | "error" | "analyst" | "links" | "embedder" | "provenance" | "usage";
        /** @enum {string} */
        SearchInclude: "embedding";
        /** @description One query of a batch. Absent fields are taken from the request. */
        SearchQuery: {
            /** @description Keywords or a question, at most 64 KiB. */
            query?: string;
            /** @description A vector of the collection's embedder. */
            vector?: number[];
            /** @description The current dialogue, as a query. */
            messages?: components["schemas"]["Message"][];
            /** @default hybrid */
            mode?: components["schemas"]["SearchMode"];
            /**
             * @description Maximum number of hits, or `auto`: as many as score clearly above the rest, at most 50. The order is the same for every k.
             * @default 5
             */
            k?: number | string;
            filter?: components["schemas"]["Filter"];
            /**
             * @description Follow links this far, in both directions, and rank the linked notes with the direct hits.
             * @default 0
             */
            expand_links?: number;
            /** @default none */
            rerank?: components["schemas"]["RerankMode"];
            /**
             * Format: double
             * @description Leave out hits with a lower score.
             */
            min_score?: number;
            /** @description Leave out the last hits until the texts fit. An exchange that does not fit is shown as the message that was found. */
            token_budget?: number;
            /** @default auto */
            profile?: components["schemas"]["RankingProfile"];
            /**
             * @description Weights of single signals, by their names in `explain`; 0 disables a signal.
             * @example {
             *       "attribute": 0
             *     }
             */
            weights?: {
                [key: string]: number;
            };
            /** @description The time from which "last May" or "two weeks ago" in the query count; default now. */
            reference_time?: components["schemas"]["EventTime"];
            /** @default false */
            explain?: boolean;
            /**
             * @description What the notes of the answer have, besides `id`; `*` is everything but the vector. `["id"]` alone returns only ids and scores. By default facts and knowledge also have `confidence` and `provenance`.
             * @default [
             *       "content",
             *       "occurred_at"
             *     ]
             */
            fields?: components["schemas"]["NoteField"][];
            /** @description `embedding` adds the vectors. */
            include?: components["schemas"]["SearchInclude"][];
        };
        /**
         * @description Exactly one of `query`, `vector`, `messages`, `queries`. With `queries`, the other fields are defaults.
         * @example {
         *       "query": "where does Ada live",
         *       "k": 5,
         *       "expand_links": 1
         *     }
         */
        SearchRequest: {
            /** @description Keywords or a question, at most 64 KiB. */
            query?: string;
            /** @description A vector of the collection's embedder. */
            vector?: number[];
            /** @description The current dialogue, as a query. */
            messages?: components["schemas"]["Message"][];
            /** @default hybrid */
            mode?: components["schemas"]["SearchMode"];
            /**
             * @description Maximum number of hits, or `auto`: as many as score clearly above the rest, at most 50. The order is the same for every k.
             * @default 5
             */
            k?: number | string;
            filter?: components["schemas"]["Filter"];
            /**
             * @description Follow links this far, in both directions, and rank the linked notes with the direct hits.
             * @default 0
             */
            expand_links?: number;
            /** @default none */
            rerank?: components["schemas"]["RerankMode"];
            /**
             * Format: double
             * @description Leave out hits with a lower score.
             */
            min_score?: number;
            /** @description Leave out the last hits until the texts fit. An exchange that does not fit is shown as the message that was found. */
            token_budget?: number;
            /** @default auto */
            profile?: components["schemas"]["RankingProfile"];
            /**
             * @description Weights of single signals, by their names in `explain`; 0 disables a signal.
             * @example {
             *       "attribute": 0
             *     }
             */
            weights?: {
                [key: string]: number;
            };
            /** @description The time from which "last May" or "two weeks ago" in the query count; default now. */
            reference_time?: components["schemas"]["EventTime"];
            /** @default false */
            explain?: boolean;
            /**
             * @description What the notes of the answer have, besides `id`; `*` is everything but the vector. `["id"]` alone returns only ids and scores. By default facts and knowledge also have `confidence` and `provenance`.
             * @default [
             *       "content",
             *       "occurred_at"
             *     ]
             */
            fields?: components["schemas"]["NoteField"][];
            /** @description `embedding` adds the vectors. */
            include?: components["schemas"]["SearchInclude"][];
            /** @description A batch. What its queries ask for is bounded together: 422 says which part to reduce. */
            queries?: components["schemas"]["SearchQuery"][];
            /** @description Ids or names of the collections. Only where the path has none. */
            collections?: components["schemas"]["Ref"][];
            /** @description All collections that have these ids of an application. Only where the path has none. */
            external?: components["schemas"]["External"];
            as_of?: components["schemas"]["AsOf"];
            /**
             * Format: int64
             * @description Wait, for a limited time, until the index has this revision.
             */
            min_revision?: number;
        };
        /**
         * @description A text that the user said, `role` and `content`, or `user` and `assistant`; also in the other forms that `MessageInput` names, without
         *     images. `id` and `session` identify the message; a query does not use them. A message without words, such as a call, is left out.
         */
        Message: {
            id?: string | string[] | null;
            session?: string | null;
            /** @description `user` (the default), `assistant`, `system`, `developer` or `tool`, or what other programs call them. */
            role?: string | {
                [key: string]: unknown;
            } | null;
            /** @description A string or parts; at most 64 KiB of text. */
            content?: string | components["schemas"]["MessagePart"][] | {
                [key: string]: unknown;
            } | null;
            name?: string | null;
            /** @description As that of `MessageInput`, not in the future. */
            occurred_at?: string | number | null;
            user?: string | null;
            assistant?: string | null;
        };
        SearchResult: {
            hits: components["schemas"]["Hit"][];
            /** @description That was read; absent where several collections were. */
            revision?: components["schemas"]["Revision"];
            /** @description What was read, where several collections were. */
            revisions?: components["schemas"]["Layer"][];
            mode: components["schemas"]["SearchMode"];
            /** Format: double */
            took_ms: number;
            /**
             * Format: double
             * @description How well the hits fit the question, 0..1; low values mean that the collection may not have the answer. Absent without hits.
             */
            answerable?: number;
            profile?: components["schemas"]["RankingProfile"];
            /** @description Why parts of the search failed, such as an unavailable embedder; absent if none did. */
            degraded?: string;
        };
        SearchResults: {
            results: components["schemas"]["SearchResult"][];
        };
        Hit: {
            note: components["schemas"]["HitNote"];
            /**
             * Format: double
             * @description Higher is better. The best of what only words found is among the first five, also with a lower score than hits behind it.
             */
            score: number;
            /**
             * Format: uuid
             * @description That it was found in; only where several were searched.
             */
            collection?: string;
            sources?: ("vector" | "lexical" | "link" | "graph")[];
            /** @description Found through a link only. */
            is_neighbor?: boolean;
            passage?: components["schemas"]["Passage"];
            /**
             * @description All messages of the exchange that the hit belongs to, oldest first, with what `note` has of each; only
             *     where the policy recalls whole exchanges of a person and an assistant (`memorybank`). `note` is then the
             *     one that fits the query best.
             */
            exchange?: components["schemas"]["HitNote"][];
            explain?: {
                [key: string]: unknown;
            };
        };
        /**
         * @description Weights of the ranking. With `auto` they depend on the query and on what the collection
         *     holds (`query` in `explain` has what counts), as they were learned from judged searches. The
         *     others are fixed: `default`, which `auto` uses where no meaning is compared, such as in
         *     `mode: lexical`, and `mem0`, which ranks by similarity as mem0 does. The answer names what was used.
         * @enum {string}
         */
        RankingProfile: "auto" | "default" | "mem0";
        /** @description The part of a long note that matches the words of the query best; absent if the note is a single passage. */
        Passage: {
            /** @description First byte of the passage in the UTF-8 content. */
            start: number;
            /** @description Byte after its last one. */
            end: number;
        };
        /** @description A `SearchResult`; for a batch, `SearchResults`. */
        SearchAnswer: components["schemas"]["SearchResult"] | components["schemas"]["SearchResults"];
        /** @description The fields of a `Note` that `fields` selects, and its `id`. */
        HitNote: Partial<components["schemas"]["Note"]> & components["schemas"]["NoteRef"];
        NoteRef: {
            /** Format: uuid */
            id: string;
        };
        /**
         * @description Exactly one of `query` and `messages`.
         * @example {
         *       "query": "where does Ada live",
         *       "token_budget": 500
         *     }
         */
        ContextRequest: {
            /** @description Keywords or a question, at most 64 KiB. */
            query?: string;
            /** @description The current dialogue, as a query. */
            messages?: components["schemas"]["Message"][];
            /**
             * @description Maximum tokens of the text.
             * @default 2000
             */
            token_budget?: number;
            encoding?: components["schemas"]["TokenEncoding"];
            /**
             * @description `time` orders each part from oldest to newest, `relevance` by rank. The notes are selected by relevance in either case.
             * @default time
             * @enum {string}
             */
            order?: "time" | "relevance";
            /** @default hybrid */
            mode?: components["schemas"]["SearchMode"];
            /**
             * @description Select from this many hits.
             * @default 50
             */
            k?: number;
            /** @description Follow links this far, in both directions, and select from the linked notes too. Default: as the policy reads (`reading` of `GET /v1/policies`). */
            expand_links?: number;
            filter?: components["schemas"]["Filter"];
            /**
             * Format: double
             * @description Leave out hits with a lower score.
             */
            min_score?: number;
            /**
             * Format: double
             * @description Answer an empty text when nothing is found, or when `answerable` is lower; `withheld` then says so.
             */
            min_answerable?: number;
            /** @default auto */
            profile?: components["schemas"]["RankingProfile"];
            /**
             * @description Weights of single signals, by their names in `explain`; 0 disables a signal.
             * @example {
             *       "attribute": 0
             *     }
             */
            weights?: {
                [key: string]: number;
            };
            /** @description The time from which "last May" or "two weeks ago" in the query count; default now. */
            reference_time?: components["schemas"]["EventTime"];
            /** @description What `notes` of the answer has of the cited notes, besides `id`; absent, the answer has no `notes`. */
            fields?: components["schemas"]["NoteField"][];
            /** @description Ids or names of the collections. Only where the path has none. */
            collections?: components["schemas"]["Ref"][];
            /** @description All collections that have these ids of an application. Only where the path has none. */
            external?: components["schemas"]["External"];
            as_of?: components["schemas"]["AsOf"];
            /**
             * Format: int64
             * @description Wait, for a limited time, until the index has this revision.
             */
            min_revision?: number;
        };
        /**
         * @description The token counter: the byte-pair encoding of models since GPT-4o, or `estimate`, which counts words and
         *     symbols and is close for English prose. `SLIPBOX_CONTEXT_ENCODING` sets the default.
         * @enum {string}
         */
        TokenEncoding: "o200k_base" | "estimate";
        /**
         * @example {
         *       "text": "## Facts\n### Sunday 2026-03-01\n[1] Ada lives in Lisbon.\n\n## Episodes\n### Sunday 2026-03-01 09:30 UTC\n[2] Ada: I moved to Lisbon last week.",
         *       "parts": [
         *         {
         *           "kind": "facts",
         *           "text": "## Facts\n### Sunday 2026-03-01\n[1] Ada lives in Lisbon.",
         *           "tokens": 22,
         *           "citations": [
         *             {
         *               "note": "01a1fdda-ccd6-713d-97db-eda78326c93a",
         *               "revision": 7
         *             }
         *           ]
         *         },
         *         {
         *           "kind": "episodes",
         *           "text": "## Episodes\n### Sunday 2026-03-01 09:30 UTC\n[2] Ada: I moved to Lisbon last week.",
         *           "tokens": 31,
         *           "citations": [
         *             {
         *               "note": "01a1fdda-ccd6-713d-97db-eda78326c93b",
         *               "revision": 4
         *             }
         *           ]
         *         }
         *       ],
         *       "citations": [
         *         {
         *           "note": "01a1fdda-ccd6-713d-97db-eda78326c93a",
         *           "revision": 7
         *         },
         *         {
         *           "note": "01a1fdda-ccd6-713d-97db-eda78326c93b",
         *           "revision": 4
         *         }
         *       ],
         *       "tokens": 53,
         *       "encoding": "o200k_base"
         *     }
         */
        ContextAnswer: {
            /** @description The text of all parts. */
            text: string;
            /** @description The parts of the text by kind of memory, in order. */
            parts: components["schemas"]["ContextPart"][];
            /** @description What the marks refer to: `[1]` is the first. */
            citations: components["schemas"]["Citation"][];
            /** @description Tokens of `text`. */
            tokens: number;
            /** @description What was read, where several collections were. */
            revisions?: components["schemas"]["Layer"][];
            /** @description With `fields`: the cited notes, in the order of `citations`, as they were shown. */
            notes?: components["schemas"]["HitNote"][];
            /** @description Days of the cited notes, each in the zone of its note, oldest first. */
            dates?: string[];
            encoding: components["schemas"]["TokenEncoding"];
            /**
             * Format: double
             * @description How well what was found fits the question, 0..1; low values mean that the collection may not have the answer. Absent if nothing was found or words alone answered.
             */
            answerable?: number;
            /** @description Why nothing of what was found is shown; absent if it is. */
            withheld?: string;
            /** @description Why parts of the search failed, such as an unavailable embedder; absent if none did. */
            degraded?: string;
        };
        ContextPart: {
            /**
             * @description `profile`, `summaries`, `facts`, `episodes`, `messages` (the newest ones) and others; clients must accept unknown kinds.
             * @example episodes
             */
            kind: string;
            /** @description As in the text of the context. */
            text: string;
            /** @description Tokens of this part alone. */
            tokens: number;
            citations: components["schemas"]["Citation"][];
        };
        Citation: {
            /** Format: uuid */
            note: string;
            /**
             * Format: int64
             * @description Revision at which the shown version begins.
             */
            revision: number;
            /**
             * Format: double
             * @description How sure a fact is, 0 to 1; absent where that is not known.
             */
            confidence?: number;
            /** @description Notes that a fact was derived from. */
            sources?: string[];
            /** @description Name of the file that the note is a passage of. */
            file?: string;
            /**
             * Format: int64
             * @description Page of the file; absent where it has none.
             */
            page?: number;
        };
        HotNote: {
            note: components["schemas"]["Note"];
            /**
             * Format: double
             * @description The number of uses, halved for every 24 hours since the last one.
             */
            score: number;
        };
        HotNoteList: {
            items: components["schemas"]["HotNote"][];
            revision: components["schemas"]["Revision"];
        };
        /**
         * @description `queued`: waits for its turn or, with `next_try_at`, for its next try. What fails because of
         *     a model, an embedder or another service is tried again, with growing pauses, for about a
         *     week. `scheduled`: set for a later time, `next_try_at`, such as the expiry of a message.
         *     `failed`: ended with an error that a retry cannot fix. `dead`: used up its tries; somebody
         *     must look at `error`.
         * @enum {string}
         */
        JobState: "queued" | "scheduled" | "running" | "done" | "failed" | "dead" | "cancelled";
        JobRef: {
            /** Format: uuid */
            id: string;
            state: components["schemas"]["JobState"];
        };
        Job: {
            /** Format: uuid */
            id: string;
            /** @description `note` and `exchange` run a policy, `policy` is work that a policy deferred, `step` is a run of an agent, `flush` makes room in its window; the others are `adopt`, `copy`, `consolidate`, `refresh`, `import`, `remove`, `reembed`, `erase`, `file`. */
            kind: string;
            state: components["schemas"]["JobState"];
            /** Format: uuid */
            collection?: string;
            /** Format: uuid */
            note?: string;
            /** @description Failed tries so far. */
            attempts: number;
            /** @description How many times in a row the process that ran the job was lost. This is no failed try. */
            losses?: number;
            /**
             * Format: date-time
             * @description When a job that waits is tried. After a failed try the pauses grow: 1 s, 5 s, up to 30 s,
             *     1 min, then twice the one before, up to an hour. `POST /v1/jobs/{job}/retry` ends the pause.
             */
            next_try_at?: string;
            progress?: components["schemas"]["Progress"];
            /** @description Why the last try failed, also while the job waits for the next one. */
            error?: string;
            /**
             * @description What the job did. Of an `import` it has `created`, `existing` and `failed`, which count lines, and `reasons`: for each
             *     `code` of the lines that failed how many `lines`, the `first_line` and its `detail`.
             */
            result?: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            finished_at?: string;
            /**
             * Format: double
             * @description For how long it was worked on, in all tries and stages that have ended. The rest of its time it waited.
             */
            worked_ms?: number;
        };
        Progress: {
            /** Format: int64 */
            done: number;
            /** Format: int64 */
            total: number;
        };
        JobList: {
            items: components["schemas"]["Job"][];
            next_cursor?: string;
        };
        /**
         * @description `open`, `approved` and `rejected` are proposals; `applied` and `undone` are risky
         *     changes that were made without asking.
         * @enum {string}
         */
        ReviewState: "open" | "approved" | "rejected" | "applied" | "undone";
        ReviewDecision: {
            reason?: string;
            /** @description Of a merge, when it is approved: only these notes; the others stay as they are. */
            notes?: string[];
        };
        ReviewChange: {
            /** Format: uuid */
            note: string;
            before?: components["schemas"]["Note"];
            after?: components["schemas"]["Note"];
            /** @description Links that the change adds to the note. */
            links?: components["schemas"]["NoteLink"][];
            /** @description A call of an agent's tool that waits, in a review of one; `note` is then the turn. */
            call?: components["schemas"]["ToolCall"];
        };
        Review: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            collection: string;
            state: components["schemas"]["ReviewState"];
            /** Format: double */
            confidence: number;
            changes: components["schemas"]["ReviewChange"][];
            /** Format: uuid */
            job?: string;
            /**
             * Format: uuid
             * @description The note whose add caused the proposal.
             */
            trigger?: string;
            revision?: components["schemas"]["Revision"];
            /** @description Of a merge: what it is from. Some of its notes can be approved. */
            merge?: components["schemas"]["ViewRef"];
            reason?: string;
            /** @description Who closed the review. */
            actor?: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            closed_at?: string;
        };
        ReviewList: {
            items: components["schemas"]["Review"][];
            next_cursor?: string;
        };
        Health: {
            /** @enum {string} */
            status: "ok";
        };
        Readiness: {
            /** @enum {string} */
            status: "ok" | "unavailable";
            /** @description Results of the checks by name: `ok`, `failed`, or `degraded` for an optional one. `writes` is `degraded` while writes cannot succeed, because the disk is full or the store is read-only; `model` and `embedder`, while their endpoint keeps failing. */
            checks: {
                [key: string]: string;
            };
            /** @description What is degraded and how to fix it; absent if there is nothing to say. */
            notices?: string[];
        };
        Version: {
            version: string;
            commit: string;
            date: string;
        };
    };
    responses: {
        /** @description Malformed (`malformed`) — JSON, UTF-8, NDJSON, percent-encoding, data after the value — or a header that the operation refuses. */
        BadRequest: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description No credential, or one that is not accepted (`unauthenticated`). */
        Unauthenticated: {
            headers: {
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The credential lacks a scope (`forbidden`). */
        Forbidden: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description It is the version that `If-None-Match` names. */
        NotModified: {
            headers: {
                ETag: components["headers"]["ETag"];
                [name: string]: unknown;
            };
            content?: never;
        };
        /** @description Absent, or belongs to another (`not_found`). */
        NotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /**
         * @description The state does not allow it (`conflict`, `already_exists`, `ambiguous_name`,
         *     `has_forks`, `idempotency_reuse`).
         */
        Conflict: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The revision is below the collection's floor (`revision_gone`). */
        RevisionGone: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `If-Match` is not satisfied (`precondition`). */
        PreconditionFailed: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The body is over its limit, which `detail` names (`too_large`). */
        TooLarge: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The content type is not accepted (`unsupported_media`). */
        UnsupportedMedia: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Well-formed but refused (`invalid`); `errors[]` names the fields. */
        Invalid: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Over a limit of the tenant (`rate_limited`, `quota_exceeded`). Without `Retry-After` waiting does not help. */
        TooManyRequests: {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The embedder or model failed (`model_failed`). */
        ModelFailed: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /**
         * @description Not ready, overloaded or stopping (`unavailable`), or a setting of the operator is missing or refused, such as the key of
         *     the model (`misconfigured`). Without `Retry-After` waiting does not help.
         */
        Unavailable: {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description As for other operations, in OpenAI's form. */
        OpenAIError: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["OpenAIError"];
            };
        };
        /** @description As for other operations, in OpenAI's form. */
        OpenAIErrorForNow: {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["OpenAIError"];
            };
        };
        /** @description The request took longer than the gateway allows (`timeout`). */
        Timeout: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description No space left (`storage_full`); nothing was written. */
        StorageFull: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
    };
    parameters: {
        /**
         * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
         *     `app`, `run`.
         */
        collectionPath: string;
        /** @description Id of a note. */
        notePath: string;
        /** @description Label of a block. */
        labelPath: string;
        /** @description Id of a stand-alone block. */
        blockPath: string;
        /** @description Id or name of a folder. */
        folderPath: components["schemas"]["Ref"];
        /** @description Id of the webhook. */
        webhookPath: string;
        /** @description Id of the delivery. */
        deliveryPath: string;
        /** @description Id or name of a tool. */
        toolPath: components["schemas"]["ToolName"];
        /** @description Id of a file. */
        filePath: string;
        /** @description Id of a job. */
        jobPath: string;
        /** @description Id of a run. */
        runPath: string;
        /** @description Id of a review. */
        reviewPath: string;
        /** @description Id of an API key. */
        apiKeyPath: string;
        /** @description Id or name of an agent. */
        agentPath: string;
        /** @description Id or name of a tenant. */
        tenantPath: string;
        /** @description Maximum number of items. */
        limit: number;
        /** @description The `next_cursor` of the previous page. */
        cursor: string;
        /** @description By creation, `oldest` or `newest` first; `updated`: the last changed first. */
        noteOrder: "oldest" | "newest" | "updated";
        /**
         * @description Read this revision instead of the head: its number, a time (RFC 3339), or the name of a snapshot. A future revision
         *     is 422, one below the floor is 410.
         */
        asOf: components["schemas"]["AsOf"];
        /** @description Wait, for a limited time, until this revision can be read. */
        minRevision: number;
        /** @description Id of the session. */
        sessionPath: string;
        /** @description `evicted` also finds messages that left a full memory (`memoryos`). */
        includeEvicted: "evicted";
        /** @description `embedding` adds the vectors of the notes. */
        include: "embedding";
        /** @description A `Filter` as JSON text. */
        noteFilter: string;
        /** @description Only those of this agent (id or name). */
        agentFilter: components["schemas"]["Ref"];
        /** @description Only those of this collection (id or name). */
        collectionFilter: components["schemas"]["Ref"];
        /** @description The application's own id of a user. */
        externalUser: components["schemas"]["ExternalID"];
        /** @description The application's own id of an agent. */
        externalAgent: components["schemas"]["ExternalID"];
        /** @description The application's own id of a program. */
        externalApp: components["schemas"]["ExternalID"];
        /** @description The application's own id of a run. */
        externalRun: components["schemas"]["ExternalID"];
        /** @description `removed` answers when all rows are gone, within limits, with a report. */
        waitRemoved: "none" | "removed";
        /** @description `evolved` answers when the job has ended, within limits. */
        wait: "none" | "evolved";
        /** @description Makes the request safe to repeat for 24 hours. */
        idempotencyKey: string;
        /** @description Id or name of the collection. */
        collectionHeader: components["schemas"]["Ref"];
        /**
         * @description Ids of the application that name the collection, in the form of the query after
         *     `/v1/collections/by`, as in `user=nora%40example.com&agent=helper`. Where an `@` is not
         *     encoded, a `+` is itself and not a space: programs fill in addresses as they are.
         */
        externalHeader: string;
        /**
         * @description Name of the policy of the collection, which is created if there is none of this name or with these ids of an application
         *     (`collections:write`): with what is written, so that a request that is refused, or writes nothing, creates none; a search and a
         *     context create it, too. It belongs to the key's agent, or is shared. A collection that exists is used as it is.
         */
        create: string;
        /** @description `true` removes every version, for good. */
        erase: boolean;
        /** @description The `ETag` that must still be current, or `*`. */
        ifMatch: string;
        /** @description An `ETag`, a list of them, or `*`: while it is current, the answer is 304. */
        ifNoneMatch: string;
    };
    requestBodies: never;
    headers: {
        /**
         * @description Version of the note, of the block or of the set of outgoing links; send it as `If-Match` to guard a write. Links and use of a note, and
         *     where a block is attached, are not part of it.
         */
        ETag: string;
        /** @description Ids of the notes in the context from memory, separated by commas; the first 32. Absent if there are none. */
        "Slipbox-Citations": string;
        /** @description The revision that was read or written. */
        "Slipbox-Revision": number;
        /**
         * @description Ids of the notes that the deleted one was derived from and that may still say it, separated by commas; the first 32. Absent if there
         *     are none. `DELETE` with `sources=delete`, or of each of them, deletes them.
         */
        "Slipbox-Sources": string;
        /** @description Kinds of the secrets that were redacted in what the request writes, separated by commas; absent if there was none. */
        "Slipbox-Redacted": string;
        /** @description Id of the job that the change caused; absent if there is none. */
        "Slipbox-Job": string;
        /** @description Seconds to wait before a retry. */
        "Retry-After": number;
        /** @description Requests allowed per window; absent without a limit. */
        "RateLimit-Limit": number;
        /** @description Requests left in the window. */
        "RateLimit-Remaining": number;
        /** @description Seconds until the next window. */
        "RateLimit-Reset": number;
        /** @description How to authenticate (RFC 9110). */
        "WWW-Authenticate": string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    createToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["TokenRequest"];
            };
        };
        responses: {
            /** @description The token. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Token"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    getJWKS: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The key set (RFC 7517). */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JWKS"];
                };
            };
            503: components["responses"]["Unavailable"];
        };
    };
    listAPIKeys: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["cursor"];
                /** @description Only those of this agent (id or name). */
                agent?: components["parameters"]["agentFilter"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of keys, without secrets. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["APIKeyList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    createAPIKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["APIKeyInput"];
            };
        };
        responses: {
            /** @description The key, with its secret. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["APIKeyCreated"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    deleteAPIKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of an API key. */
                api_key: components["parameters"]["apiKeyPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Revoked. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    rotateAPIKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of an API key. */
                api_key: components["parameters"]["apiKeyPath"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RotateRequest"];
            };
        };
        responses: {
            /** @description The new key, with its secret. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["APIKeyCreated"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    revokeAPIKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of an API key. */
                api_key: components["parameters"]["apiKeyPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Revoked. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    listGrants: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["cursor"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of grants, without secrets. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GrantList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    deleteGrant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a grant. */
                grant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Ended. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    listAgents: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["cursor"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of agents, by name. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    createAgent: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AgentInput"];
            };
        };
        responses: {
            /** @description The agent. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Agent"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    getAgent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or name of an agent. */
                agent: components["parameters"]["agentPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The agent. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Agent"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    deleteAgent: {
        parameters: {
            query?: {
                /** @description `removed` answers when all rows are gone, within limits, with a report. */
                wait?: components["parameters"]["waitRemoved"];
            };
            header?: never;
            path: {
                /** @description Id or name of an agent. */
                agent: components["parameters"]["agentPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was removed, with `wait=removed`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RemovalReport"];
                };
            };
            /** @description Deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    listTenants: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["cursor"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of tenants, by name. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    createTenant: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TenantInput"];
            };
        };
        responses: {
            /** @description The tenant. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tenant"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    getTenant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or name of a tenant. */
                tenant: components["parameters"]["tenantPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tenant. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tenant"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    deleteTenant: {
        parameters: {
            query?: {
                /** @description `removed` answers when all rows are gone, within limits, with a report. */
                wait?: components["parameters"]["waitRemoved"];
            };
            header?: never;
            path: {
                /** @description Id or name of a tenant. */
                tenant: components["parameters"]["tenantPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was removed, with `wait=removed`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RemovalReport"];
                };
            };
            /** @description Deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    patchTenant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or name of a tenant. */
                tenant: components["parameters"]["tenantPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TenantPatch"];
                "application/merge-patch+json": components["schemas"]["TenantPatch"];
            };
        };
        responses: {
            /** @description The tenant. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tenant"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    suspendTenant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or name of a tenant. */
                tenant: components["parameters"]["tenantPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tenant. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tenant"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    resumeTenant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or name of a tenant. */
                tenant: components["parameters"]["tenantPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tenant. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tenant"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    getUsage: {
        parameters: {
            query?: {
                /** @description First day (UTC) of the model use; default 30 days ago. */
                from?: string;
                /** @description Last day (UTC) of the model use; default today. */
                to?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Usage and limits. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Usage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    listAudit: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["cursor"];
                /** @description Only entries with this action, such as `key.revoke`. */
                action?: string;
                /** @description Only entries about this id. */
                target?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of entries, newest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    listPolicies: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All policies, by name. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    listCollections: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["cursor"];
                /** @description Only those of this agent (id or name). */
                agent?: components["parameters"]["agentFilter"];
                /** @description Only collections with this name. */
                name?: components["schemas"]["Name"];
                /** @description Only collections with this `user` in `external`. */
                user?: components["schemas"]["ExternalID"];
                /** @description Only collections with this `agent` in `external`. */
                agent_id?: components["schemas"]["ExternalID"];
                /** @description Only collections with this `app` in `external`. */
                app?: components["schemas"]["ExternalID"];
                /** @description Only collections with this `run` in `external`. */
                run?: components["schemas"]["ExternalID"];
                /**
                 * @description Only collections that have each of these words somewhere in their name, their `display_name` or the ids in `external`, in any
                 *     letter case.
                 */
                q?: string;
                /** @description `true`: only collections with ids in `external`; `false`: only those without. */
                named?: "true" | "false";
                /** @description Only the forks of this collection, by its id or name; not the forks of these. */
                parent?: components["schemas"]["Ref"];
                /**
                 * @description By name; by creation, `newest` or `oldest` first; `updated`: the last written first; `user`: those with ids in `external`, by
                 *     these. `name` and `parent` as filters are combined with no other order.
                 */
                order?: "name" | "newest" | "oldest" | "updated" | "user";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of collections. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CollectionList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    createCollection: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CollectionInput"];
            };
        };
        responses: {
            /** @description The collection. */
            201: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Collection"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    findCollection: {
        parameters: {
            query?: {
                /** @description The application's own id of a user. */
                user?: components["parameters"]["externalUser"];
                /** @description The application's own id of an agent. */
                agent?: components["parameters"]["externalAgent"];
                /** @description The application's own id of a program. */
                app?: components["parameters"]["externalApp"];
                /** @description The application's own id of a run. */
                run?: components["parameters"]["externalRun"];
                /** @description Wait, for a limited time, until this revision can be read. */
                min_revision?: components["parameters"]["minRevision"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The collection. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Collection"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    forgetExternal: {
        parameters: {
            query?: {
                /** @description The application's own id of a user. */
                user?: components["parameters"]["externalUser"];
                /** @description The application's own id of an agent. */
                agent?: components["parameters"]["externalAgent"];
                /** @description The application's own id of a program. */
                app?: components["parameters"]["externalApp"];
                /** @description The application's own id of a run. */
                run?: components["parameters"]["externalRun"];
                /**
                 * @description `delete` deletes the forks as well. `materialise` lets them keep a copy of what they read, and ends
                 *     attachments of blocks.
                 */
                forks?: "delete" | "materialise";
                /** @description `removed` answers when the rows are gone, within limits; `removed` of the answer reports whether they are. */
                wait?: "none" | "removed";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was deleted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ForgetReport"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    getCollection: {
        parameters: {
            query?: {
                /** @description Wait, for a limited time, until this revision can be read. */
                min_revision?: components["parameters"]["minRevision"];
            };
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The collection. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Collection"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    deleteCollection: {
        parameters: {
            query?: {
                /** @description `materialise` copies what each fork reads from the collection into the fork first. */
                forks?: "materialise";
                /** @description `removed` answers when all rows are gone, within limits, with a report. */
                wait?: components["parameters"]["waitRemoved"];
            };
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was removed, with `wait=removed`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RemovalReport"];
                };
            };
            /** @description Deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    patchCollection: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CollectionPatch"];
                "application/merge-patch+json": components["schemas"]["CollectionPatch"];
            };
        };
        responses: {
            /** @description The collection. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Collection"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    listChanges: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /** @description The revision after which the page begins, such as `next` of the page before. */
                after?: number;
            };
            header?: {
                /** @description The id of the last event that was received; for a stream. */
                "Last-Event-ID"?: string;
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page, or the event stream. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeList"];
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    cloneCollection: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CloneRequest"];
            };
        };
        responses: {
            /** @description The fork. */
            201: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Collection"];
                };
            };
            /** @description The copy, which a job fills, and the job. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CloneAccepted"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    diffCollection: {
        parameters: {
            query?: {
                /** @description The other collection, by id or name. Default the collection itself if `against_at` is given, else its parent. */
                against?: components["schemas"]["Ref"];
                /** @description A revision, a time (RFC 3339) or the name of a snapshot of the collection. Default its head. */
                at?: components["schemas"]["RevisionName"];
                /** @description The same, of `against`. */
                against_at?: components["schemas"]["RevisionName"];
                /** @description Only notes of this kind, and no links. */
                kind?: components["schemas"]["Kind"];
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["cursor"];
            };
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of changes. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Diff"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    mergeCollection: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MergeRequest"];
            };
        };
        responses: {
            /** @description What was merged, or the review of the same changes that is open already. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MergeResult"];
                };
            };
            /** @description The review that waits for approval, or the job that merges; its result says what `merged` and `conflicts` do here. */
            202: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MergeResult"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    rollbackCollection: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RollbackRequest"];
            };
        };
        responses: {
            /** @description What was changed. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RollbackResult"];
                };
            };
            /** @description The job that returns to the revision. */
            202: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RollbackResult"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    listSnapshots: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of them, by name. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SnapshotList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    createSnapshot: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SnapshotRequest"];
            };
        };
        responses: {
            /** @description The snapshot. */
            201: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Snapshot"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    deleteSnapshot: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
                snapshot: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    importNotes: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Name of the policy of the collection, which is created if there is none of this name or with these ids of an application
                 *     (`collections:write`): with what is written, so that a request that is refused, or writes nothing, creates none; a search and a
                 *     context create it, too. It belongs to the key's agent, or is shared. A collection that exists is used as it is.
                 */
                "Slipbox-Create"?: components["parameters"]["create"];
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        /** @description Lines of `ImportNote` or of messages, at most 1 GiB; may be empty. */
        requestBody?: {
            content: {
                "application/x-ndjson": string;
            };
        };
        responses: {
            /** @description The job. */
            202: {
                headers: {
                    "Slipbox-Redacted": components["headers"]["Slipbox-Redacted"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobAccepted"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    exportCollection: {
        parameters: {
            query?: {
                /**
                 * @description Read this revision instead of the head: its number, a time (RFC 3339), or the name of a snapshot. A future revision
                 *     is 422, one below the floor is 410.
                 */
                as_of?: components["parameters"]["asOf"];
                /** @description What is sent. */
                format?: "jsonl" | "markdown";
            };
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The notes. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                    "text/markdown": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    importHistory: {
        parameters: {
            query?: {
                /** @description The name of the file. */
                name?: string;
                /** @description Say what is understood, and import nothing. */
                dry_run?: boolean;
                /** @description The format, if it is not recognized. */
                format?: string;
                /** @description The name of the person whose memory it becomes. Required where the memory is of one person and several speak. */
                me?: string;
                /** @description Zone of times that say none, such as Europe/Berlin; by default that of the collection. */
                timezone?: string;
                /** @description What is older than this day is left out. */
                since?: string;
                /** @description The order of day, month and year in a chat, where the file does not show it. */
                dates?: "DMY" | "MDY" | "YMD";
                /** @description Whether the policy learns from what is imported. */
                infer?: boolean;
            };
            header?: {
                /**
                 * @description Name of the policy of the collection, which is created if there is none of this name or with these ids of an application
                 *     (`collections:write`): with what is written, so that a request that is refused, or writes nothing, creates none; a search and a
                 *     context create it, too. It belongs to the key's agent, or is shared. A collection that exists is used as it is.
                 */
                "Slipbox-Create"?: components["parameters"]["create"];
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        /** @description The file as it is, at most 1 GiB. */
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description What is understood, of a dry run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HistoryReport"];
                };
            };
            /** @description What was understood, and the job that imports it. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HistoryReport"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    consolidateCollection: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobAccepted"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    reembedCollection: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReembedRequest"];
            };
        };
        responses: {
            /** @description The job. Its progress counts notes. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobAccepted"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    refreshCollection: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RefreshRequest"];
            };
        };
        responses: {
            /** @description The job. Its progress counts jobs. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobAccepted"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    getCosts: {
        parameters: {
            query?: {
                /** @description First day (UTC); default 30 days before the last one. */
                from?: string;
                /** @description Last day (UTC); default today. */
                to?: string;
            };
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Calls and tokens. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Costs"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    listMessages: {
        parameters: {
            query?: {
                /** @description Keywords or a question. */
                query?: string;
                /** @description Only messages with this role. */
                role?: components["schemas"]["MessageRole"];
                /** @description Only messages of this session; a number also finds the session with that number. */
                session?: string;
                /** @description Only messages at or after this time, or from this date on. */
                from?: components["schemas"]["AnyTime"];
                /** @description Only messages before this time, or to the end of this date. */
                to?: components["schemas"]["AnyTime"];
                /** @description By event time, `oldest` or `newest` first; `updated`: the last written first. */
                order?: "oldest" | "newest" | "updated";
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["cursor"];
                /**
                 * @description Read this revision instead of the head: its number, a time (RFC 3339), or the name of a snapshot. A future revision
                 *     is 422, one below the floor is 410.
                 */
                as_of?: components["parameters"]["asOf"];
                /** @description Wait, for a limited time, until this revision can be read. */
                min_revision?: components["parameters"]["minRevision"];
            };
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of messages. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessageList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            502: components["responses"]["ModelFailed"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    addMessages: {
        parameters: {
            query?: {
                /** @description `evolved` answers when the job has ended, within limits. */
                wait?: components["parameters"]["wait"];
            };
            header?: {
                /** @description Makes the request safe to repeat for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
                /**
                 * @description Name of the policy of the collection, which is created if there is none of this name or with these ids of an application
                 *     (`collections:write`): with what is written, so that a request that is refused, or writes nothing, creates none; a search and a
                 *     context create it, too. It belongs to the key's agent, or is shared. A collection that exists is used as it is.
                 */
                "Slipbox-Create"?: components["parameters"]["create"];
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MessagesInput"];
            };
        };
        responses: {
            /** @description The messages are stored; the policy processes them. */
            202: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    "Slipbox-Redacted": components["headers"]["Slipbox-Redacted"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagesAccepted"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    remember: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RememberInput"];
            };
        };
        responses: {
            /** @description What was stored. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    "Slipbox-Redacted": components["headers"]["Slipbox-Redacted"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Remembered"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            502: components["responses"]["ModelFailed"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    recallLayers: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RecallInput"];
            };
        };
        responses: {
            /** @description The items, best first. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecallAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    listLayers: {
        parameters: {
            query?: {
                /**
                 * @description Read this revision instead of the head: its number, a time (RFC 3339), or the name of a snapshot. A future revision
                 *     is 422, one below the floor is 410.
                 */
                as_of?: components["parameters"]["asOf"];
                /** @description Wait, for a limited time, until this revision can be read. */
                min_revision?: components["parameters"]["minRevision"];
            };
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Each layer with its count. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LayerList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    listSessions: {
        parameters: {
            query?: {
                /** @description `heat`: the hottest first; `recent`: the last visited first. */
                order?: "heat" | "recent";
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["cursor"];
                /**
                 * @description Read this revision instead of the head: its number, a time (RFC 3339), or the name of a snapshot. A future revision
                 *     is 422, one below the floor is 410.
                 */
                as_of?: components["parameters"]["asOf"];
                /** @description Wait, for a limited time, until this revision can be read. */
                min_revision?: components["parameters"]["minRevision"];
            };
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of sessions. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    getSession: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["cursor"];
                /**
                 * @description Read this revision instead of the head: its number, a time (RFC 3339), or the name of a snapshot. A future revision
                 *     is 422, one below the floor is 410.
                 */
                as_of?: components["parameters"]["asOf"];
                /** @description Wait, for a limited time, until this revision can be read. */
                min_revision?: components["parameters"]["minRevision"];
            };
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
                /** @description Id of the session. */
                session: components["parameters"]["sessionPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The session. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionDetail"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    listKnowledge: {
        parameters: {
            query?: {
                /** @description Only what is known of the user, or of the assistant. */
                of?: "user" | "assistant";
                /** @description By creation, `oldest` or `newest` first; `updated`: the last changed first. */
                order?: components["parameters"]["noteOrder"];
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["cursor"];
                /**
                 * @description Read this revision instead of the head: its number, a time (RFC 3339), or the name of a snapshot. A future revision
                 *     is 422, one below the floor is 410.
                 */
                as_of?: components["parameters"]["asOf"];
                /** @description Wait, for a limited time, until this revision can be read. */
                min_revision?: components["parameters"]["minRevision"];
            };
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of knowledge. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NoteList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    getTiers: {
        parameters: {
            query?: {
                /**
                 * @description Read this revision instead of the head: its number, a time (RFC 3339), or the name of a snapshot. A future revision
                 *     is 422, one below the floor is 410.
                 */
                as_of?: components["parameters"]["asOf"];
                /** @description Wait, for a limited time, until this revision can be read. */
                min_revision?: components["parameters"]["minRevision"];
            };
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tiers. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tiers"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    listMoves: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["cursor"];
            };
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of moves. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MoveList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    listFacts: {
        parameters: {
            query?: {
                /** @description Only facts about this entity, by its name or the id of its note. */
                subject?: string;
                /** @description Only facts with this relation. */
                relation?: string;
                /** @description Only facts whose object is this entity, by its name or the id of its note. */
                object?: string;
                /** @description `true` for facts that are true now, `false` for facts that are no longer true, `any` for both. Default `true`; `any` with `valid_at`. */
                valid?: "true" | "false" | "any";
                /** @description Only facts that were true at this time, which may be in the future. */
                valid_at?: components["schemas"]["AnyTime"];
                /** @description `true`: only facts that contradict another one; the answer then has the pairs in `conflicts`, too. */
                conflicts?: "true" | "false";
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["cursor"];
                /**
                 * @description Read this revision instead of the head: its number, a time (RFC 3339), or the name of a snapshot. A future revision
                 *     is 422, one below the floor is 410.
                 */
                as_of?: components["parameters"]["asOf"];
                /** @description Wait, for a limited time, until this revision can be read. */
                min_revision?: components["parameters"]["minRevision"];
            };
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of facts. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FactList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    forget: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ForgetRequest"];
            };
        };
        responses: {
            /** @description What was or would be deleted, and why. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    "Slipbox-Sources": components["headers"]["Slipbox-Sources"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ForgetAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            502: components["responses"]["ModelFailed"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    listSummaries: {
        parameters: {
            query?: {
                /** @description Only summaries of this period. */
                period?: components["schemas"]["SummaryPeriod"];
                /** @description By creation, `oldest` or `newest` first; `updated`: the last changed first. */
                order?: components["parameters"]["noteOrder"];
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["cursor"];
                /**
                 * @description Read this revision instead of the head: its number, a time (RFC 3339), or the name of a snapshot. A future revision
                 *     is 422, one below the floor is 410.
                 */
                as_of?: components["parameters"]["asOf"];
                /** @description Wait, for a limited time, until this revision can be read. */
                min_revision?: components["parameters"]["minRevision"];
            };
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of summaries. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SummaryList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    getProfile: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /**
                 * @description Read this revision instead of the head: its number, a time (RFC 3339), or the name of a snapshot. A future revision
                 *     is 422, one below the floor is 410.
                 */
                as_of?: components["parameters"]["asOf"];
                /** @description Wait, for a limited time, until this revision can be read. */
                min_revision?: components["parameters"]["minRevision"];
            };
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The profile; `limit` is the maximum number of days. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Profile"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    putProfile: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ProfileInput"];
            };
        };
        responses: {
            /** @description The note that holds it. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    "Slipbox-Redacted": components["headers"]["Slipbox-Redacted"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProfileMeta"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    exportBank: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BankDocument"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    importBank: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Name of the policy of the collection, which is created if there is none of this name or with these ids of an application
                 *     (`collections:write`): with what is written, so that a request that is refused, or writes nothing, creates none; a search and a
                 *     context create it, too. It belongs to the key's agent, or is shared. A collection that exists is used as it is.
                 */
                "Slipbox-Create"?: components["parameters"]["create"];
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BankDocument"];
            };
        };
        responses: {
            /** @description What was written, and what was skipped and why. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    "Slipbox-Redacted": components["headers"]["Slipbox-Redacted"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BankReport"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    exportAgentFile: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentFile"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    importAgentFile: {
        parameters: {
            query?: {
                /** @description Id or name of the agent, for a file with several. */
                agent?: string;
            };
            header?: {
                /**
                 * @description Name of the policy of the collection, which is created if there is none of this name or with these ids of an application
                 *     (`collections:write`): with what is written, so that a request that is refused, or writes nothing, creates none; a search and a
                 *     context create it, too. It belongs to the key's agent, or is shared. A collection that exists is used as it is.
                 */
                "Slipbox-Create"?: components["parameters"]["create"];
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AgentFile"];
            };
        };
        responses: {
            /** @description What was written, the job that imports the rest, and what is not carried. */
            202: {
                headers: {
                    "Slipbox-Redacted": components["headers"]["Slipbox-Redacted"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentFileReport"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    listBlocks: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["cursor"];
                /**
                 * @description Read this revision instead of the head: its number, a time (RFC 3339), or the name of a snapshot. A future revision
                 *     is 422, one below the floor is 410.
                 */
                as_of?: components["parameters"]["asOf"];
                /** @description Wait, for a limited time, until this revision can be read. */
                min_revision?: components["parameters"]["minRevision"];
            };
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of blocks. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BlockList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    attachBlock: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BlockAttach"];
            };
        };
        responses: {
            /** @description The block as the collection shows it. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Block"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    getBlock: {
        parameters: {
            query?: {
                /**
                 * @description Read this revision instead of the head: its number, a time (RFC 3339), or the name of a snapshot. A future revision
                 *     is 422, one below the floor is 410.
                 */
                as_of?: components["parameters"]["asOf"];
                /** @description Wait, for a limited time, until this revision can be read. */
                min_revision?: components["parameters"]["minRevision"];
            };
            header?: {
                /** @description An `ETag`, a list of them, or `*`: while it is current, the answer is 304. */
                "If-None-Match"?: components["parameters"]["ifNoneMatch"];
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
                /** @description Label of a block. */
                label: components["parameters"]["labelPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The block. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Block"];
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    putBlock: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that must still be current, or `*`. */
                "If-Match"?: components["parameters"]["ifMatch"];
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
                /** @description Label of a block. */
                label: components["parameters"]["labelPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BlockInput"];
            };
        };
        responses: {
            /** @description The block as it is now. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    "Slipbox-Redacted": components["headers"]["Slipbox-Redacted"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Block"];
                };
            };
            /** @description The block is new. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    "Slipbox-Redacted": components["headers"]["Slipbox-Redacted"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Block"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    deleteBlock: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that must still be current, or `*`. */
                "If-Match"?: components["parameters"]["ifMatch"];
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
                /** @description Label of a block. */
                label: components["parameters"]["labelPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            204: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    appendBlock: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that must still be current, or `*`. */
                "If-Match"?: components["parameters"]["ifMatch"];
                /** @description Makes the request safe to repeat for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
                /** @description Label of a block. */
                label: components["parameters"]["labelPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BlockAppend"];
            };
        };
        responses: {
            /** @description The block as it is now. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    "Slipbox-Redacted": components["headers"]["Slipbox-Redacted"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Block"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    replaceBlock: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that must still be current, or `*`. */
                "If-Match"?: components["parameters"]["ifMatch"];
                /** @description Makes the request safe to repeat for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
                /** @description Label of a block. */
                label: components["parameters"]["labelPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BlockReplace"];
            };
        };
        responses: {
            /** @description The block as it is now. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    "Slipbox-Redacted": components["headers"]["Slipbox-Redacted"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Block"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    insertBlock: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that must still be current, or `*`. */
                "If-Match"?: components["parameters"]["ifMatch"];
                /** @description Makes the request safe to repeat for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
                /** @description Label of a block. */
                label: components["parameters"]["labelPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BlockInsert"];
            };
        };
        responses: {
            /** @description The block as it is now. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    "Slipbox-Redacted": components["headers"]["Slipbox-Redacted"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Block"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    undoBlock: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that must still be current, or `*`. */
                "If-Match"?: components["parameters"]["ifMatch"];
                /** @description Makes the request safe to repeat for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
                /** @description Label of a block. */
                label: components["parameters"]["labelPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The block as it is now. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Block"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    redoBlock: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that must still be current, or `*`. */
                "If-Match"?: components["parameters"]["ifMatch"];
                /** @description Makes the request safe to repeat for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
                /** @description Label of a block. */
                label: components["parameters"]["labelPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The block as it is now. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Block"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    detachBlock: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
                /** @description Label of a block. */
                label: components["parameters"]["labelPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The block, which the collection no longer shows. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Block"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    listFolders: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["cursor"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of folders, by name. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FolderList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    createFolder: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["FolderInput"];
            };
        };
        responses: {
            /** @description The folder. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Folder"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    getFolder: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or name of a folder. */
                folder: components["parameters"]["folderPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The folder. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Folder"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    deleteFolder: {
        parameters: {
            query?: {
                /** @description `removed` answers when all rows are gone, within limits, with a report. */
                wait?: components["parameters"]["waitRemoved"];
            };
            header?: never;
            path: {
                /** @description Id or name of a folder. */
                folder: components["parameters"]["folderPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was removed, with `wait=removed`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RemovalReport"];
                };
            };
            /** @description Deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    listFiles: {
        parameters: {
            query?: {
                /** @description By creation, `oldest` or `newest` first; `updated`: the last changed first. */
                order?: components["parameters"]["noteOrder"];
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["cursor"];
            };
            header?: never;
            path: {
                /** @description Id or name of a folder. */
                folder: components["parameters"]["folderPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of files. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FileList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    uploadFile: {
        parameters: {
            query?: {
                /** @description When the file expires, with its passages. */
                expires_at?: components["schemas"]["ExpiresAt"];
                /** @description How long until it expires, in seconds. Not beside `expires_at`. */
                ttl_seconds?: components["schemas"]["TTL"];
            };
            header?: never;
            path: {
                /** @description Id or name of a folder. */
                folder: components["parameters"]["folderPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "multipart/form-data": {
                    /** @description The file, with its name. */
                    file: string;
                };
            };
        };
        responses: {
            /** @description The file, which was read already. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FileAccepted"];
                };
            };
            /** @description The file, and the job that reads it. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FileAccepted"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    getFile: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or name of a folder. */
                folder: components["parameters"]["folderPath"];
                /** @description Id of a file. */
                file: components["parameters"]["filePath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["File"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    deleteFile: {
        parameters: {
            query?: {
                /** @description `true` removes every version, for good. */
                erase?: components["parameters"]["erase"];
            };
            header?: never;
            path: {
                /** @description Id or name of a folder. */
                folder: components["parameters"]["folderPath"];
                /** @description Id of a file. */
                file: components["parameters"]["filePath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was erased, with `erase`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErasureReport"];
                };
            };
            /** @description Deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    listCollectionFiles: {
        parameters: {
            query?: {
                /** @description By creation, `oldest` or `newest` first; `updated`: the last changed first. */
                order?: components["parameters"]["noteOrder"];
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["cursor"];
            };
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of files. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FileList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    addFile: {
        parameters: {
            query?: {
                /** @description When the file expires, with its passages. */
                expires_at?: components["schemas"]["ExpiresAt"];
                /** @description How long until it expires, in seconds. Not beside `expires_at`. */
                ttl_seconds?: components["schemas"]["TTL"];
            };
            header?: {
                /**
                 * @description Name of the policy of the collection, which is created if there is none of this name or with these ids of an application
                 *     (`collections:write`): with what is written, so that a request that is refused, or writes nothing, creates none; a search and a
                 *     context create it, too. It belongs to the key's agent, or is shared. A collection that exists is used as it is.
                 */
                "Slipbox-Create"?: components["parameters"]["create"];
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "multipart/form-data": {
                    /** @description The file, with its name. */
                    file: string;
                };
            };
        };
        responses: {
            /** @description The file, which was read already. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FileAccepted"];
                };
            };
            /** @description The file, and the job that reads it. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FileAccepted"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    getCollectionFile: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
                /** @description Id of a file. */
                file: components["parameters"]["filePath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["File"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    deleteCollectionFile: {
        parameters: {
            query?: {
                /** @description `true` removes every version, for good. */
                erase?: components["parameters"]["erase"];
            };
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
                /** @description Id of a file. */
                file: components["parameters"]["filePath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was erased, with `erase`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErasureReport"];
                };
            };
            /** @description Deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    attachFolder: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["FolderRef"];
            };
        };
        responses: {
            /** @description The folder. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Folder"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    detachFolder: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["FolderRef"];
            };
        };
        responses: {
            /** @description The folder. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Folder"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    listSharedBlocks: {
        parameters: {
            query?: {
                /** @description By creation, `oldest` or `newest` first; `updated`: the last changed first. */
                order?: components["parameters"]["noteOrder"];
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["cursor"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of blocks. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BlockList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    createSharedBlock: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SharedBlockInput"];
            };
        };
        responses: {
            /** @description The block. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    "Slipbox-Redacted": components["headers"]["Slipbox-Redacted"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Block"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    getSharedBlock: {
        parameters: {
            query?: never;
            header?: {
                /** @description An `ETag`, a list of them, or `*`: while it is current, the answer is 304. */
                "If-None-Match"?: components["parameters"]["ifNoneMatch"];
            };
            path: {
                /** @description Id of a stand-alone block. */
                block: components["parameters"]["blockPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The block. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Block"];
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    deleteSharedBlock: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that must still be current, or `*`. */
                "If-Match"?: components["parameters"]["ifMatch"];
            };
            path: {
                /** @description Id of a stand-alone block. */
                block: components["parameters"]["blockPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            204: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    patchSharedBlock: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that must still be current, or `*`. */
                "If-Match"?: components["parameters"]["ifMatch"];
            };
            path: {
                /** @description Id of a stand-alone block. */
                block: components["parameters"]["blockPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SharedBlockPatch"];
            };
        };
        responses: {
            /** @description The block as it is now. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    "Slipbox-Redacted": components["headers"]["Slipbox-Redacted"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Block"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    getSharedBlockHistory: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["cursor"];
            };
            header?: never;
            path: {
                /** @description Id of a stand-alone block. */
                block: components["parameters"]["blockPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of versions, newest first. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HistoryList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    undoSharedBlock: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that must still be current, or `*`. */
                "If-Match"?: components["parameters"]["ifMatch"];
                /** @description Makes the request safe to repeat for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
            };
            path: {
                /** @description Id of a stand-alone block. */
                block: components["parameters"]["blockPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The block as it is now. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Block"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    redoSharedBlock: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that must still be current, or `*`. */
                "If-Match"?: components["parameters"]["ifMatch"];
                /** @description Makes the request safe to repeat for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
            };
            path: {
                /** @description Id of a stand-alone block. */
                block: components["parameters"]["blockPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The block as it is now. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Block"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    listTools: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tools. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    listWebhooks: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["cursor"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of webhooks, oldest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    createWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookInput"];
            };
        };
        responses: {
            /** @description The webhook, with its secret. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    getWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the webhook. */
                webhook: components["parameters"]["webhookPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The webhook. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    deleteWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the webhook. */
                webhook: components["parameters"]["webhookPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    patchWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the webhook. */
                webhook: components["parameters"]["webhookPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookPatch"];
                "application/merge-patch+json": components["schemas"]["WebhookPatch"];
            };
        };
        responses: {
            /** @description The webhook as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    listDeliveries: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["cursor"];
                state?: components["schemas"]["DeliveryState"];
            };
            header?: never;
            path: {
                /** @description Id of the webhook. */
                webhook: components["parameters"]["webhookPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of deliveries, newest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    retryDelivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the webhook. */
                webhook: components["parameters"]["webhookPath"];
                /** @description Id of the delivery. */
                delivery: components["parameters"]["deliveryPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The delivery as it was before. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Delivery"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    listOwnTools: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["cursor"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of tools, by name. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnToolList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    createOwnTool: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OwnToolInput"];
            };
        };
        responses: {
            /** @description The tool. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnTool"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    getOwnTool: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or name of a tool. */
                tool: components["parameters"]["toolPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tool. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnTool"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    deleteOwnTool: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or name of a tool. */
                tool: components["parameters"]["toolPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    patchOwnTool: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or name of a tool. */
                tool: components["parameters"]["toolPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OwnToolPatch"];
                "application/merge-patch+json": components["schemas"]["OwnToolPatch"];
            };
        };
        responses: {
            /** @description The tool as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnTool"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    attachTool: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OwnToolRef"];
            };
        };
        responses: {
            /** @description The tool. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnTool"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    detachTool: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OwnToolRef"];
            };
        };
        responses: {
            /** @description The tool. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnTool"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    step: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StepRequest"];
            };
        };
        responses: {
            /** @description What the tool returned. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    "Slipbox-Redacted": components["headers"]["Slipbox-Redacted"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StepAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    postEvent: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EventInput"];
            };
        };
        responses: {
            /** @description The run, for a request that waited. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    "Slipbox-Redacted": components["headers"]["Slipbox-Redacted"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            /** @description The event is stored. */
            202: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    "Slipbox-Redacted": components["headers"]["Slipbox-Redacted"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventAccepted"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    flushContext: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["FlushRequest"];
            };
        };
        responses: {
            /** @description The job. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobAccepted"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    pauseHeartbeats: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PauseRequest"];
            };
        };
        responses: {
            /** @description The pause. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Heartbeats"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    listRuns: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["cursor"];
            };
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of runs. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    getRun: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
                /** @description Id of a run. */
                run: components["parameters"]["runPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    cancelRun: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
                /** @description Id of a run. */
                run: components["parameters"]["runPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    listSteps: {
        parameters: {
            query: {
                /** @description Id of the run. */
                run: string;
            };
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All steps, in order. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StepList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    listWaitingCalls: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The calls. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WaitingCallList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    postResults: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
                /** @description Id of a run. */
                run: components["parameters"]["runPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CallResults"];
            };
        };
        responses: {
            /** @description The run. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    "Slipbox-Redacted": components["headers"]["Slipbox-Redacted"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    chat: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Name of the policy of the collection, which is created if there is none of this name or with these ids of an application
                 *     (`collections:write`): with what is written, so that a request that is refused, or writes nothing, creates none; a search and a
                 *     context create it, too. It belongs to the key's agent, or is shared. A collection that exists is used as it is.
                 */
                "Slipbox-Create"?: components["parameters"]["create"];
                /** @description Stores the exchange once for 24 hours. The reply is written again, so clients send none of their own. */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChatRequest"];
            };
        };
        responses: {
            /** @description The reply, or a stream of it. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    "Slipbox-Redacted": components["headers"]["Slipbox-Redacted"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatAnswer"];
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            502: components["responses"]["ModelFailed"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    createChatCompletion: {
        parameters: {
            query?: never;
            header?: {
                /** @description Id or name of the collection. */
                "Slipbox-Collection"?: components["parameters"]["collectionHeader"];
                /**
                 * @description Ids of the application that name the collection, in the form of the query after
                 *     `/v1/collections/by`, as in `user=nora%40example.com&agent=helper`. Where an `@` is not
                 *     encoded, a `+` is itself and not a space: programs fill in addresses as they are.
                 */
                "Slipbox-External"?: components["parameters"]["externalHeader"];
                /**
                 * @description Name of the policy of the collection, which is created if there is none of this name or with these ids of an application
                 *     (`collections:write`): with what is written, so that a request that is refused, or writes nothing, creates none; a search and a
                 *     context create it, too. It belongs to the key's agent, or is shared. A collection that exists is used as it is.
                 */
                "Slipbox-Create"?: components["parameters"]["create"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChatCompletionRequest"];
            };
        };
        responses: {
            /** @description The completion, or a stream of its chunks. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    "Slipbox-Citations": components["headers"]["Slipbox-Citations"];
                    "Slipbox-Redacted": components["headers"]["Slipbox-Redacted"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatCompletion"];
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["OpenAIError"];
            401: components["responses"]["OpenAIError"];
            403: components["responses"]["OpenAIError"];
            404: components["responses"]["OpenAIError"];
            409: components["responses"]["OpenAIError"];
            413: components["responses"]["OpenAIError"];
            415: components["responses"]["OpenAIError"];
            422: components["responses"]["OpenAIError"];
            429: components["responses"]["OpenAIErrorForNow"];
            502: components["responses"]["OpenAIError"];
            503: components["responses"]["OpenAIErrorForNow"];
            504: components["responses"]["OpenAIError"];
            507: components["responses"]["OpenAIError"];
        };
    };
    createResponse: {
        parameters: {
            query?: never;
            header?: {
                /** @description Id or name of the collection. */
                "Slipbox-Collection"?: components["parameters"]["collectionHeader"];
                /**
                 * @description Ids of the application that name the collection, in the form of the query after
                 *     `/v1/collections/by`, as in `user=nora%40example.com&agent=helper`. Where an `@` is not
                 *     encoded, a `+` is itself and not a space: programs fill in addresses as they are.
                 */
                "Slipbox-External"?: components["parameters"]["externalHeader"];
                /**
                 * @description Name of the policy of the collection, which is created if there is none of this name or with these ids of an application
                 *     (`collections:write`): with what is written, so that a request that is refused, or writes nothing, creates none; a search and a
                 *     context create it, too. It belongs to the key's agent, or is shared. A collection that exists is used as it is.
                 */
                "Slipbox-Create"?: components["parameters"]["create"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResponseRequest"];
            };
        };
        responses: {
            /** @description The response, or a stream of its events. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    "Slipbox-Citations": components["headers"]["Slipbox-Citations"];
                    "Slipbox-Redacted": components["headers"]["Slipbox-Redacted"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Response"];
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["OpenAIError"];
            401: components["responses"]["OpenAIError"];
            403: components["responses"]["OpenAIError"];
            404: components["responses"]["OpenAIError"];
            409: components["responses"]["OpenAIError"];
            413: components["responses"]["OpenAIError"];
            415: components["responses"]["OpenAIError"];
            422: components["responses"]["OpenAIError"];
            429: components["responses"]["OpenAIErrorForNow"];
            502: components["responses"]["OpenAIError"];
            503: components["responses"]["OpenAIErrorForNow"];
            504: components["responses"]["OpenAIError"];
            507: components["responses"]["OpenAIError"];
        };
    };
    createEmbeddings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EmbeddingRequest"];
            };
        };
        responses: {
            /** @description The embeddings, in the order of the texts. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmbeddingList"];
                };
            };
            400: components["responses"]["OpenAIError"];
            401: components["responses"]["OpenAIError"];
            403: components["responses"]["OpenAIError"];
            404: components["responses"]["OpenAIError"];
            413: components["responses"]["OpenAIError"];
            415: components["responses"]["OpenAIError"];
            422: components["responses"]["OpenAIError"];
            429: components["responses"]["OpenAIErrorForNow"];
            502: components["responses"]["OpenAIError"];
            503: components["responses"]["OpenAIErrorForNow"];
            504: components["responses"]["OpenAIError"];
        };
    };
    getModel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of a model. */
                model: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The model. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelName"];
                };
            };
            400: components["responses"]["OpenAIError"];
            401: components["responses"]["OpenAIError"];
            403: components["responses"]["OpenAIError"];
            404: components["responses"]["OpenAIError"];
            422: components["responses"]["OpenAIError"];
            429: components["responses"]["OpenAIErrorForNow"];
            503: components["responses"]["OpenAIErrorForNow"];
            504: components["responses"]["OpenAIError"];
        };
    };
    listModels: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The models; `slipbox` selects the collection's model. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelList"];
                };
            };
            400: components["responses"]["OpenAIError"];
            401: components["responses"]["OpenAIError"];
            403: components["responses"]["OpenAIError"];
            422: components["responses"]["OpenAIError"];
            429: components["responses"]["OpenAIErrorForNow"];
            503: components["responses"]["OpenAIErrorForNow"];
            504: components["responses"]["OpenAIError"];
        };
    };
    listNotes: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["cursor"];
                /**
                 * @description Read this revision instead of the head: its number, a time (RFC 3339), or the name of a snapshot. A future revision
                 *     is 422, one below the floor is 410.
                 */
                as_of?: components["parameters"]["asOf"];
                /** @description Wait, for a limited time, until this revision can be read. */
                min_revision?: components["parameters"]["minRevision"];
                /** @description `embedding` adds the vectors of the notes. */
                include?: components["parameters"]["include"];
                /** @description A `Filter` as JSON text. */
                filter?: components["parameters"]["noteFilter"];
                /** @description Only notes in this state. */
                state?: components["schemas"]["NoteState"];
                /** @description Only notes of this kind. */
                kind?: components["schemas"]["Kind"];
                /** @description By creation, `oldest` or `newest` first; `updated`: the last changed first. */
                order?: components["parameters"]["noteOrder"];
            };
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of notes. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NoteList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    createNote: {
        parameters: {
            query?: {
                /** @description `evolved` answers when the job has ended, within limits. */
                wait?: components["parameters"]["wait"];
            };
            header?: {
                /** @description Makes the request safe to repeat for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
                /**
                 * @description Name of the policy of the collection, which is created if there is none of this name or with these ids of an application
                 *     (`collections:write`): with what is written, so that a request that is refused, or writes nothing, creates none; a search and a
                 *     context create it, too. It belongs to the key's agent, or is shared. A collection that exists is used as it is.
                 */
                "Slipbox-Create"?: components["parameters"]["create"];
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NoteInput"];
            };
        };
        responses: {
            /** @description The note was there already, and nothing was written (`on_duplicate`). */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    "Slipbox-Redacted": components["headers"]["Slipbox-Redacted"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NoteCreated"];
                };
            };
            /** @description The note. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    "Slipbox-Redacted": components["headers"]["Slipbox-Redacted"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NoteCreated"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    bulkNotes: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
                /**
                 * @description Name of the policy of the collection, which is created if there is none of this name or with these ids of an application
                 *     (`collections:write`): with what is written, so that a request that is refused, or writes nothing, creates none; a search and a
                 *     context create it, too. It belongs to the key's agent, or is shared. A collection that exists is used as it is.
                 */
                "Slipbox-Create"?: components["parameters"]["create"];
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        /** @description Lines of `BulkNote`; may be empty. */
        requestBody?: {
            content: {
                "application/x-ndjson": string;
            };
        };
        responses: {
            /** @description Lines of `BulkResult`; the last line is a `BulkEnd`. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    "Slipbox-Redacted": components["headers"]["Slipbox-Redacted"];
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    getNote: {
        parameters: {
            query?: {
                /**
                 * @description Read this revision instead of the head: its number, a time (RFC 3339), or the name of a snapshot. A future revision
                 *     is 422, one below the floor is 410.
                 */
                as_of?: components["parameters"]["asOf"];
                /** @description Wait, for a limited time, until this revision can be read. */
                min_revision?: components["parameters"]["minRevision"];
                /** @description `embedding` adds the vectors of the notes. */
                include?: components["parameters"]["include"];
            };
            header?: {
                /** @description An `ETag`, a list of them, or `*`: while it is current, the answer is 304. */
                "If-None-Match"?: components["parameters"]["ifNoneMatch"];
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
                /** @description Id of a note. */
                note: components["parameters"]["notePath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The note. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Note"];
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    deleteNote: {
        parameters: {
            query?: {
                /**
                 * @description What happens to the notes that this one was derived from. By default, the sentences that say a fact are taken out
                 *     of them; `keep` leaves them as they are, and `delete` deletes them.
                 */
                sources?: "keep" | "delete";
                /** @description `true` removes every version, for good. */
                erase?: components["parameters"]["erase"];
            };
            header?: {
                /** @description The `ETag` that must still be current, or `*`. */
                "If-Match"?: components["parameters"]["ifMatch"];
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
                /** @description Id of a note. */
                note: components["parameters"]["notePath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was erased, with `erase`. */
            200: {
                headers: {
                    "Slipbox-Sources": components["headers"]["Slipbox-Sources"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErasureReport"];
                };
            };
            /** @description Deleted. */
            204: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    "Slipbox-Sources": components["headers"]["Slipbox-Sources"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    patchNote: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that must still be current, or `*`. */
                "If-Match"?: components["parameters"]["ifMatch"];
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
                /** @description Id of a note. */
                note: components["parameters"]["notePath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NotePatch"];
                "application/merge-patch+json": components["schemas"]["NotePatch"];
            };
        };
        responses: {
            /** @description The note as it is now. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    "Slipbox-Job": components["headers"]["Slipbox-Job"];
                    "Slipbox-Redacted": components["headers"]["Slipbox-Redacted"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Note"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    getNoteHistory: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["cursor"];
                /**
                 * @description Read this revision instead of the head: its number, a time (RFC 3339), or the name of a snapshot. A future revision
                 *     is 422, one below the floor is 410.
                 */
                as_of?: components["parameters"]["asOf"];
                /** @description Wait, for a limited time, until this revision can be read. */
                min_revision?: components["parameters"]["minRevision"];
            };
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
                /** @description Id of a note. */
                note: components["parameters"]["notePath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of versions, newest first. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HistoryList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    blameNote: {
        parameters: {
            query?: {
                /**
                 * @description Read this revision instead of the head: its number, a time (RFC 3339), or the name of a snapshot. A future revision
                 *     is 422, one below the floor is 410.
                 */
                as_of?: components["parameters"]["asOf"];
                /** @description Wait, for a limited time, until this revision can be read. */
                min_revision?: components["parameters"]["minRevision"];
            };
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
                /** @description Id of a note. */
                note: components["parameters"]["notePath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The change that each field is from. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Blame"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    restoreNote: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that must still be current, or `*`. */
                "If-Match"?: components["parameters"]["ifMatch"];
                /** @description Makes the request safe to repeat for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
                /** @description Id of a note. */
                note: components["parameters"]["notePath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RestoreRequest"];
            };
        };
        responses: {
            /** @description The note as it is now. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    "Slipbox-Redacted": components["headers"]["Slipbox-Redacted"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Note"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    listLinks: {
        parameters: {
            query?: {
                /**
                 * @description Read this revision instead of the head: its number, a time (RFC 3339), or the name of a snapshot. A future revision
                 *     is 422, one below the floor is 410.
                 */
                as_of?: components["parameters"]["asOf"];
                /** @description Wait, for a limited time, until this revision can be read. */
                min_revision?: components["parameters"]["minRevision"];
                /** @description Outgoing links (the default), incoming ones, or both. */
                direction?: "out" | "in" | "both";
            };
            header?: {
                /** @description An `ETag`, a list of them, or `*`: while it is current, the answer is 304. */
                "If-None-Match"?: components["parameters"]["ifNoneMatch"];
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
                /** @description Id of a note. */
                note: components["parameters"]["notePath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The links. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LinkList"];
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    putLinks: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that must still be current, or `*`. */
                "If-Match"?: components["parameters"]["ifMatch"];
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
                /** @description Id of a note. */
                note: components["parameters"]["notePath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LinksInput"];
            };
        };
        responses: {
            /** @description The links as they are now. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    "Slipbox-Redacted": components["headers"]["Slipbox-Redacted"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LinkList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    deleteLinks: {
        parameters: {
            query: {
                /** @description The note that the links point to. */
                target: string;
                /** @description Only links with this relation. */
                relation?: components["schemas"]["Relation"];
            };
            header?: {
                /** @description The `ETag` that must still be current, or `*`. */
                "If-Match"?: components["parameters"]["ifMatch"];
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
                /** @description Id of a note. */
                note: components["parameters"]["notePath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Removed. */
            204: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    getGraph: {
        parameters: {
            query?: {
                /** @description Start from this note. */
                center?: string;
                /** @description How many links away from the center. */
                depth?: number;
                /** @description At most this many notes. */
                limit?: number;
                /**
                 * @description Read this revision instead of the head: its number, a time (RFC 3339), or the name of a snapshot. A future revision
                 *     is 422, one below the floor is 410.
                 */
                as_of?: components["parameters"]["asOf"];
                /** @description Wait, for a limited time, until this revision can be read. */
                min_revision?: components["parameters"]["minRevision"];
            };
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The graph. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Graph"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    searchAll: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "query": "who repairs bicycles",
                 *       "collections": [
                 *         "bicycles"
                 *       ],
                 *       "k": 5
                 *     }
                 */
                "application/json": components["schemas"]["SearchRequest"];
            };
        };
        responses: {
            /** @description Hits, best first; for a batch, one result per query. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SearchAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            502: components["responses"]["ModelFailed"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    buildContextAll: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "query": "who repairs bicycles",
                 *       "collections": [
                 *         "bicycles"
                 *       ],
                 *       "token_budget": 500
                 *     }
                 */
                "application/json": components["schemas"]["ContextRequest"];
            };
        };
        responses: {
            /** @description The text; empty if nothing was found or nothing fits. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ContextAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            502: components["responses"]["ModelFailed"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    search: {
        parameters: {
            query?: {
                /** @description `evicted` also finds messages that left a full memory (`memoryos`). */
                include?: components["parameters"]["includeEvicted"];
            };
            header?: {
                /**
                 * @description Name of the policy of the collection, which is created if there is none of this name or with these ids of an application
                 *     (`collections:write`): with what is written, so that a request that is refused, or writes nothing, creates none; a search and a
                 *     context create it, too. It belongs to the key's agent, or is shared. A collection that exists is used as it is.
                 */
                "Slipbox-Create"?: components["parameters"]["create"];
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SearchRequest"];
            };
        };
        responses: {
            /** @description Hits, best first; for a batch, one result per query. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SearchAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            502: components["responses"]["ModelFailed"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    getMainContext: {
        parameters: {
            query?: {
                /**
                 * @description Read this revision instead of the head: its number, a time (RFC 3339), or the name of a snapshot. A future revision
                 *     is 422, one below the floor is 410.
                 */
                as_of?: components["parameters"]["asOf"];
                /** @description Wait, for a limited time, until this revision can be read. */
                min_revision?: components["parameters"]["minRevision"];
            };
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The parts. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MainContext"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    buildContext: {
        parameters: {
            query?: {
                /** @description `evicted` also finds messages that left a full memory (`memoryos`). */
                include?: components["parameters"]["includeEvicted"];
            };
            header?: {
                /**
                 * @description Name of the policy of the collection, which is created if there is none of this name or with these ids of an application
                 *     (`collections:write`): with what is written, so that a request that is refused, or writes nothing, creates none; a search and a
                 *     context create it, too. It belongs to the key's agent, or is shared. A collection that exists is used as it is.
                 */
                "Slipbox-Create"?: components["parameters"]["create"];
            };
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ContextRequest"];
            };
        };
        responses: {
            /** @description The text; empty if nothing was found or nothing fits. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ContextAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["RevisionGone"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            502: components["responses"]["ModelFailed"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    listHotNotes: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /** @description Wait, for a limited time, until this revision can be read. */
                min_revision?: components["parameters"]["minRevision"];
            };
            header?: never;
            path: {
                /**
                 * @description Id or name of a collection; or `by`, and then the query names it by the ids of an application: `user`, `agent`,
                 *     `app`, `run`.
                 */
                collection: components["parameters"]["collectionPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Hot notes, the hottest first. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HotNoteList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    listJobs: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["cursor"];
                /** @description Only jobs in this state. */
                state?: components["schemas"]["JobState"];
                /** @description Only jobs of this kind. */
                kind?: string;
                /** @description Only those of this collection (id or name). */
                collection?: components["parameters"]["collectionFilter"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of jobs, newest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    getJob: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a job. */
                job: components["parameters"]["jobPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    retryJob: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a job. */
                job: components["parameters"]["jobPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    cancelJob: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a job. */
                job: components["parameters"]["jobPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    streamJob: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a job. */
                job: components["parameters"]["jobPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The event stream. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    getJobResults: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a job. */
                job: components["parameters"]["jobPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Lines of `BulkResult`; the last line is a `BulkEnd`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    listReviews: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["cursor"];
                /** @description Only reviews in this state. */
                state?: components["schemas"]["ReviewState"];
                /** @description Only those of this collection (id or name). */
                collection?: components["parameters"]["collectionFilter"];
                /** @description By date, newest first (the default), or by risk, lowest confidence first. */
                sort?: "date" | "risk";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of reviews. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReviewList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    getReview: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a review. */
                review: components["parameters"]["reviewPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The review. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Review"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
        };
    };
    approveReview: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a review. */
                review: components["parameters"]["reviewPath"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ReviewDecision"];
            };
        };
        responses: {
            /** @description The review. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Review"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    rejectReview: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a review. */
                review: components["parameters"]["reviewPath"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ReviewDecision"];
            };
        };
        responses: {
            /** @description The review. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Review"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    undoReview: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a review. */
                review: components["parameters"]["reviewPath"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ReviewDecision"];
            };
        };
        responses: {
            /** @description The review. */
            200: {
                headers: {
                    "Slipbox-Revision": components["headers"]["Slipbox-Revision"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Review"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            507: components["responses"]["StorageFull"];
        };
    };
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is alive. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    getReady: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It can serve. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Readiness"];
                };
            };
            /** @description It cannot serve (yet); `checks` has the reason. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Readiness"];
                };
            };
        };
    };
    getVersion: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The build. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Version"];
                };
            };
        };
    };
    getMetrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Text exposition format. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    getDocs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The page. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
        };
    };
    getOpenAPI: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OpenAPI 3.1. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/yaml": string;
                };
            };
        };
    };
}
