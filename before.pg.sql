--
-- PostgreSQL database dump
--

\restrict x

-- Dumped from database version 15.20 (Debian 15.20-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: vector; Type: EXTENSION; Schema: -; Owner: -
--

CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;


--
-- Name: EXTENSION vector; Type: COMMENT; Schema: -; Owner: 
--

COMMENT ON EXTENSION vector IS 'vector data type and ivfflat and hnsw access methods';


--
-- Name: backlog(text); Type: FUNCTION; Schema: public; Owner: slipbox_owner
--

CREATE FUNCTION public.backlog(of text, OUT waiting bigint, OUT oldest timestamp with time zone) RETURNS record
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
    SELECT count(*), min(j.created_at) FROM jobs j WHERE j.state = 'queued' AND j.stage = of
$$;


ALTER FUNCTION public.backlog(of text, OUT waiting bigint, OUT oldest timestamp with time zone) OWNER TO slipbox_owner;

--
-- Name: due_collections(timestamp with time zone, integer); Type: FUNCTION; Schema: public; Owner: slipbox_owner
--

CREATE FUNCTION public.due_collections(at timestamp with time zone, most integer) RETURNS TABLE(tenant uuid, collection uuid)
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
    WITH RECURSIVE w AS (
        (SELECT j.tenant, j.collection FROM jobs j WHERE j.state IN ('queued', 'running') ORDER BY j.tenant, j.collection LIMIT 1)
        UNION ALL
        SELECT n.tenant, n.collection FROM w CROSS JOIN LATERAL (
            SELECT j.tenant, j.collection FROM jobs j
            WHERE j.state IN ('queued', 'running') AND (j.tenant, j.collection) > (w.tenant, w.collection)
            ORDER BY j.tenant, j.collection LIMIT 1) n
    )
    SELECT w.tenant, w.collection FROM w
    LEFT JOIN LATERAL (
        SELECT j.seq, j.state = 'queued' AND (j.not_before IS NULL OR j.not_before <= at) OR j.state = 'running' AND j.lease_until <= at AS due
        FROM jobs j WHERE j.tenant = w.tenant AND j.collection = w.collection AND j.stage = 'decide' AND j.state IN ('queued', 'running')
        AND (j.state = 'queued' AND (j.not_before IS NULL OR j.not_before <= at OR j.attempts = 0) OR j.state = 'running' AND j.lease_until <= at)
        ORDER BY j.seq LIMIT 1) f ON true
    -- The looks have limits, which keeps the planner from reading the jobs of all collections at once.
    WHERE (SELECT true FROM jobs j WHERE j.tenant = w.tenant AND j.collection = w.collection AND j.stage IN ('prepare', 'task') AND j.state IN ('queued', 'running')
        AND (j.state = 'queued' AND (j.not_before IS NULL OR j.not_before <= at) OR j.state = 'running' AND j.lease_until <= at) LIMIT 1)
    OR f.due
    AND (SELECT true FROM jobs o WHERE o.tenant = w.tenant AND o.collection = w.collection AND o.stage = 'decide'
        AND o.state = 'running' AND o.lease_until > at LIMIT 1) IS NULL
    AND (SELECT true FROM jobs o WHERE o.tenant = w.tenant AND o.collection = w.collection AND o.stage = 'prepare'
        AND o.seq < f.seq AND o.state IN ('queued', 'running') AND o.attempts = 0 LIMIT 1) IS NULL
    ORDER BY random() LIMIT most
$$;


ALTER FUNCTION public.due_collections(at timestamp with time zone, most integer) OWNER TO slipbox_owner;

--
-- Name: ephemeral_collections(integer); Type: FUNCTION; Schema: public; Owner: slipbox_owner
--

CREATE FUNCTION public.ephemeral_collections(most integer) RETURNS TABLE(tenant uuid, collection uuid)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
    SELECT c.tenant, c.id FROM collections c WHERE c.ephemeral AND c.state <> 'deleting' ORDER BY c.tenant, c.id LIMIT most
$$;


ALTER FUNCTION public.ephemeral_collections(most integer) OWNER TO slipbox_owner;

--
-- Name: expired_collections(timestamp with time zone, integer); Type: FUNCTION; Schema: public; Owner: slipbox_owner
--

CREATE FUNCTION public.expired_collections(at timestamp with time zone, most integer) RETURNS TABLE(tenant uuid, collection uuid)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
    SELECT c.tenant, c.id FROM collections c WHERE c.expires_at <= at AND c.state <> 'deleting' ORDER BY c.expires_at, c.id LIMIT most
$$;


ALTER FUNCTION public.expired_collections(at timestamp with time zone, most integer) OWNER TO slipbox_owner;

--
-- Name: next_due(); Type: FUNCTION; Schema: public; Owner: slipbox_owner
--

CREATE FUNCTION public.next_due() RETURNS timestamp with time zone
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
    SELECT least(
        (SELECT coalesce(j.not_before, 'epoch') FROM jobs j WHERE j.state = 'queued' ORDER BY j.not_before NULLS FIRST LIMIT 1),
        (SELECT coalesce(j.lease_until, 'epoch') FROM jobs j WHERE j.state = 'running' ORDER BY j.lease_until NULLS FIRST LIMIT 1))
$$;


ALTER FUNCTION public.next_due() OWNER TO slipbox_owner;

--
-- Name: stale_parts(timestamp with time zone, integer); Type: FUNCTION; Schema: public; Owner: slipbox_owner
--

CREATE FUNCTION public.stale_parts(before timestamp with time zone, most integer) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
    WITH RECURSIVE w AS (
        (SELECT s.tenant FROM spool s ORDER BY s.tenant LIMIT 1)
        UNION ALL
        SELECT n.tenant FROM w CROSS JOIN LATERAL (SELECT s.tenant FROM spool s WHERE s.tenant > w.tenant ORDER BY s.tenant LIMIT 1) n
    )
    SELECT w.tenant FROM w
    WHERE EXISTS (SELECT FROM spool s WHERE s.tenant = w.tenant AND s.at < before AND NOT (s.name = 'body' AND EXISTS (
        SELECT FROM jobs j WHERE j.tenant = s.tenant AND j.id = s.job AND j.state IN ('queued', 'running'))))
    LIMIT most
$$;


ALTER FUNCTION public.stale_parts(before timestamp with time zone, most integer) OWNER TO slipbox_owner;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: agents; Type: TABLE; Schema: public; Owner: slipbox_owner
--

CREATE TABLE public.agents (
    tenant uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    display_name text NOT NULL,
    created_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.agents ALTER COLUMN tenant SET (pg_attver=38268632);
ALTER TABLE ONLY public.agents ALTER COLUMN id SET (pg_attver=38268632);
ALTER TABLE ONLY public.agents ALTER COLUMN name SET (pg_attver=38268632);
ALTER TABLE ONLY public.agents ALTER COLUMN display_name SET (pg_attver=38268632);
ALTER TABLE ONLY public.agents ALTER COLUMN created_at SET (pg_attver=38268632);


ALTER TABLE public.agents OWNER TO slipbox_owner;

--
-- Name: api_keys; Type: TABLE; Schema: public; Owner: slipbox_owner
--

CREATE TABLE public.api_keys (
    tenant uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    prefix text NOT NULL,
    hash bytea NOT NULL,
    permissions text[] NOT NULL,
    agent uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    rotated_to uuid NOT NULL
);
ALTER TABLE ONLY public.api_keys ALTER COLUMN tenant SET (pg_attver=38284408);
ALTER TABLE ONLY public.api_keys ALTER COLUMN id SET (pg_attver=38284408);
ALTER TABLE ONLY public.api_keys ALTER COLUMN name SET (pg_attver=38284408);
ALTER TABLE ONLY public.api_keys ALTER COLUMN prefix SET (pg_attver=38284408);
ALTER TABLE ONLY public.api_keys ALTER COLUMN hash SET (pg_attver=38284408);
ALTER TABLE ONLY public.api_keys ALTER COLUMN permissions SET (pg_attver=38284408);
ALTER TABLE ONLY public.api_keys ALTER COLUMN agent SET (pg_attver=38284408);
ALTER TABLE ONLY public.api_keys ALTER COLUMN created_at SET (pg_attver=38284408);
ALTER TABLE ONLY public.api_keys ALTER COLUMN expires_at SET (pg_attver=38284408);
ALTER TABLE ONLY public.api_keys ALTER COLUMN revoked_at SET (pg_attver=38284408);
ALTER TABLE ONLY public.api_keys ALTER COLUMN rotated_to SET (pg_attver=38284408);


ALTER TABLE public.api_keys OWNER TO slipbox_owner;

--
-- Name: audit; Type: TABLE; Schema: public; Owner: slipbox_owner
--

CREATE TABLE public.audit (
    tenant uuid NOT NULL,
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    target text NOT NULL,
    detail jsonb
);
ALTER TABLE ONLY public.audit ALTER COLUMN tenant SET (pg_attver=38497272);
ALTER TABLE ONLY public.audit ALTER COLUMN id SET (pg_attver=38497272);
ALTER TABLE ONLY public.audit ALTER COLUMN at SET (pg_attver=38497272);
ALTER TABLE ONLY public.audit ALTER COLUMN actor SET (pg_attver=38497272);
ALTER TABLE ONLY public.audit ALTER COLUMN action SET (pg_attver=38497272);
ALTER TABLE ONLY public.audit ALTER COLUMN target SET (pg_attver=38497272);
ALTER TABLE ONLY public.audit ALTER COLUMN detail SET (pg_attver=38497272);


ALTER TABLE public.audit OWNER TO slipbox_owner;

--
-- Name: audit_ids; Type: SEQUENCE; Schema: public; Owner: slipbox_owner
--

CREATE SEQUENCE public.audit_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE public.audit_ids OWNER TO slipbox_owner;

--
-- Name: changesets; Type: TABLE; Schema: public; Owner: slipbox_owner
--

CREATE TABLE public.changesets (
    tenant uuid NOT NULL,
    collection uuid NOT NULL,
    revision bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    actor text NOT NULL,
    job uuid NOT NULL,
    trigger uuid NOT NULL,
    cause text NOT NULL,
    undoes bigint NOT NULL,
    merged_from json
);
ALTER TABLE ONLY public.changesets ALTER COLUMN tenant SET (pg_attver=38351504);
ALTER TABLE ONLY public.changesets ALTER COLUMN collection SET (pg_attver=38351504);
ALTER TABLE ONLY public.changesets ALTER COLUMN revision SET (pg_attver=38351504);
ALTER TABLE ONLY public.changesets ALTER COLUMN at SET (pg_attver=38351504);
ALTER TABLE ONLY public.changesets ALTER COLUMN actor SET (pg_attver=38351504);
ALTER TABLE ONLY public.changesets ALTER COLUMN job SET (pg_attver=38351504);
ALTER TABLE ONLY public.changesets ALTER COLUMN trigger SET (pg_attver=38351504);
ALTER TABLE ONLY public.changesets ALTER COLUMN cause SET (pg_attver=38351504);
ALTER TABLE ONLY public.changesets ALTER COLUMN undoes SET (pg_attver=38351504);
ALTER TABLE ONLY public.changesets ALTER COLUMN merged_from SET (pg_attver=38351504);


ALTER TABLE public.changesets OWNER TO slipbox_owner;

--
-- Name: collection_heads; Type: TABLE; Schema: public; Owner: slipbox_owner
--

CREATE TABLE public.collection_heads (
    tenant uuid NOT NULL,
    collection uuid NOT NULL,
    head bigint NOT NULL,
    floor bigint NOT NULL,
    origin bigint NOT NULL,
    job_seq bigint NOT NULL,
    evolved_adds bigint NOT NULL,
    erase_epoch bigint NOT NULL,
    counted boolean NOT NULL,
    v_notes bigint NOT NULL,
    v_links bigint NOT NULL,
    v_pending bigint NOT NULL,
    v_in_review bigint NOT NULL,
    v_bytes bigint NOT NULL,
    v_kinds jsonb NOT NULL,
    s_notes bigint NOT NULL,
    s_links bigint NOT NULL,
    s_bytes bigint NOT NULL
)
WITH (fillfactor='40', autovacuum_vacuum_scale_factor='0.05');
ALTER TABLE ONLY public.collection_heads ALTER COLUMN tenant SET (pg_attver=38333464);
ALTER TABLE ONLY public.collection_heads ALTER COLUMN collection SET (pg_attver=38333464);
ALTER TABLE ONLY public.collection_heads ALTER COLUMN head SET (pg_attver=38333464);
ALTER TABLE ONLY public.collection_heads ALTER COLUMN floor SET (pg_attver=38333464);
ALTER TABLE ONLY public.collection_heads ALTER COLUMN origin SET (pg_attver=38333464);
ALTER TABLE ONLY public.collection_heads ALTER COLUMN job_seq SET (pg_attver=38333464);
ALTER TABLE ONLY public.collection_heads ALTER COLUMN evolved_adds SET (pg_attver=38333464);
ALTER TABLE ONLY public.collection_heads ALTER COLUMN erase_epoch SET (pg_attver=38333464);
ALTER TABLE ONLY public.collection_heads ALTER COLUMN counted SET (pg_attver=38333464);
ALTER TABLE ONLY public.collection_heads ALTER COLUMN v_notes SET (pg_attver=38333464);
ALTER TABLE ONLY public.collection_heads ALTER COLUMN v_links SET (pg_attver=38333464);
ALTER TABLE ONLY public.collection_heads ALTER COLUMN v_pending SET (pg_attver=38333464);
ALTER TABLE ONLY public.collection_heads ALTER COLUMN v_in_review SET (pg_attver=38333464);
ALTER TABLE ONLY public.collection_heads ALTER COLUMN v_bytes SET (pg_attver=38333464);
ALTER TABLE ONLY public.collection_heads ALTER COLUMN v_kinds SET (pg_attver=38333464);
ALTER TABLE ONLY public.collection_heads ALTER COLUMN s_notes SET (pg_attver=38333464);
ALTER TABLE ONLY public.collection_heads ALTER COLUMN s_links SET (pg_attver=38333464);
ALTER TABLE ONLY public.collection_heads ALTER COLUMN s_bytes SET (pg_attver=38333464);


ALTER TABLE public.collection_heads OWNER TO slipbox_owner;

--
-- Name: collections; Type: TABLE; Schema: public; Owner: slipbox_owner
--

CREATE TABLE public.collections (
    tenant uuid NOT NULL,
    id uuid NOT NULL,
    agent uuid NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    display_name text NOT NULL,
    policy text NOT NULL,
    policy_config json,
    embedder text NOT NULL,
    dim integer NOT NULL,
    metadata jsonb,
    ephemeral boolean NOT NULL,
    state text NOT NULL,
    parent uuid NOT NULL,
    parent_revision bigint NOT NULL,
    expires_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    reembedded uuid DEFAULT '00000000-0000-0000-0000-000000000000'::uuid NOT NULL
);
ALTER TABLE ONLY public.collections ALTER COLUMN tenant SET (pg_attver=38304712);
ALTER TABLE ONLY public.collections ALTER COLUMN id SET (pg_attver=38304712);
ALTER TABLE ONLY public.collections ALTER COLUMN agent SET (pg_attver=38304712);
ALTER TABLE ONLY public.collections ALTER COLUMN name SET (pg_attver=38304712);
ALTER TABLE ONLY public.collections ALTER COLUMN display_name SET (pg_attver=38304712);
ALTER TABLE ONLY public.collections ALTER COLUMN policy SET (pg_attver=38304712);
ALTER TABLE ONLY public.collections ALTER COLUMN policy_config SET (pg_attver=38304712);
ALTER TABLE ONLY public.collections ALTER COLUMN embedder SET (pg_attver=38304712);
ALTER TABLE ONLY public.collections ALTER COLUMN dim SET (pg_attver=38304712);
ALTER TABLE ONLY public.collections ALTER COLUMN metadata SET (pg_attver=38304712);
ALTER TABLE ONLY public.collections ALTER COLUMN ephemeral SET (pg_attver=38304712);
ALTER TABLE ONLY public.collections ALTER COLUMN state SET (pg_attver=38304712);
ALTER TABLE ONLY public.collections ALTER COLUMN parent SET (pg_attver=38304712);
ALTER TABLE ONLY public.collections ALTER COLUMN parent_revision SET (pg_attver=38304712);
ALTER TABLE ONLY public.collections ALTER COLUMN expires_at SET (pg_attver=38304712);
ALTER TABLE ONLY public.collections ALTER COLUMN created_at SET (pg_attver=38304712);
ALTER TABLE ONLY public.collections ALTER COLUMN reembedded SET (pg_attver=39149888);


ALTER TABLE public.collections OWNER TO slipbox_owner;

--
-- Name: idempotency; Type: TABLE; Schema: public; Owner: slipbox_owner
--

CREATE TABLE public.idempotency (
    tenant uuid NOT NULL,
    agent uuid NOT NULL,
    method text NOT NULL,
    path text NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    body_hash bytea NOT NULL,
    status integer NOT NULL,
    ids json,
    at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.idempotency ALTER COLUMN tenant SET (pg_attver=38515608);
ALTER TABLE ONLY public.idempotency ALTER COLUMN agent SET (pg_attver=38515608);
ALTER TABLE ONLY public.idempotency ALTER COLUMN method SET (pg_attver=38515608);
ALTER TABLE ONLY public.idempotency ALTER COLUMN path SET (pg_attver=38515608);
ALTER TABLE ONLY public.idempotency ALTER COLUMN key SET (pg_attver=38515608);
ALTER TABLE ONLY public.idempotency ALTER COLUMN body_hash SET (pg_attver=38515608);
ALTER TABLE ONLY public.idempotency ALTER COLUMN status SET (pg_attver=38515608);
ALTER TABLE ONLY public.idempotency ALTER COLUMN ids SET (pg_attver=38515608);
ALTER TABLE ONLY public.idempotency ALTER COLUMN at SET (pg_attver=38515608);


ALTER TABLE public.idempotency OWNER TO slipbox_owner;

--
-- Name: jobs; Type: TABLE; Schema: public; Owner: slipbox_owner
--

CREATE TABLE public.jobs (
    tenant uuid NOT NULL,
    id uuid NOT NULL,
    collection uuid NOT NULL,
    note uuid NOT NULL,
    kind text NOT NULL,
    stage text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    attempts integer NOT NULL,
    payload json,
    result json,
    progress json,
    error text NOT NULL,
    not_before timestamp with time zone,
    lease uuid NOT NULL,
    lease_until timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    claims integer DEFAULT 0 NOT NULL,
    trace text DEFAULT ''::text NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.05');
ALTER TABLE ONLY public.jobs ALTER COLUMN tenant SET (pg_attver=38450824);
ALTER TABLE ONLY public.jobs ALTER COLUMN id SET (pg_attver=38450824);
ALTER TABLE ONLY public.jobs ALTER COLUMN collection SET (pg_attver=38450824);
ALTER TABLE ONLY public.jobs ALTER COLUMN note SET (pg_attver=38450824);
ALTER TABLE ONLY public.jobs ALTER COLUMN kind SET (pg_attver=38450824);
ALTER TABLE ONLY public.jobs ALTER COLUMN stage SET (pg_attver=38450824);
ALTER TABLE ONLY public.jobs ALTER COLUMN state SET (pg_attver=38450824);
ALTER TABLE ONLY public.jobs ALTER COLUMN seq SET (pg_attver=38450824);
ALTER TABLE ONLY public.jobs ALTER COLUMN attempts SET (pg_attver=38450824);
ALTER TABLE ONLY public.jobs ALTER COLUMN payload SET (pg_attver=38450824);
ALTER TABLE ONLY public.jobs ALTER COLUMN result SET (pg_attver=38450824);
ALTER TABLE ONLY public.jobs ALTER COLUMN progress SET (pg_attver=38450824);
ALTER TABLE ONLY public.jobs ALTER COLUMN error SET (pg_attver=38450824);
ALTER TABLE ONLY public.jobs ALTER COLUMN not_before SET (pg_attver=38450824);
ALTER TABLE ONLY public.jobs ALTER COLUMN lease SET (pg_attver=38450824);
ALTER TABLE ONLY public.jobs ALTER COLUMN lease_until SET (pg_attver=38450824);
ALTER TABLE ONLY public.jobs ALTER COLUMN created_at SET (pg_attver=38450824);
ALTER TABLE ONLY public.jobs ALTER COLUMN finished_at SET (pg_attver=38450824);
ALTER TABLE ONLY public.jobs ALTER COLUMN claims SET (pg_attver=39029272);
ALTER TABLE ONLY public.jobs ALTER COLUMN trace SET (pg_attver=39076144);


ALTER TABLE public.jobs OWNER TO slipbox_owner;

--
-- Name: links; Type: TABLE; Schema: public; Owner: slipbox_owner
--

CREATE TABLE public.links (
    tenant uuid NOT NULL,
    layer uuid NOT NULL,
    source uuid NOT NULL,
    relation text NOT NULL COLLATE pg_catalog."C",
    target uuid NOT NULL,
    from_rev bigint NOT NULL,
    to_rev bigint NOT NULL,
    deleted boolean NOT NULL,
    confidence double precision NOT NULL,
    attributes jsonb,
    created_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.links ALTER COLUMN tenant SET (pg_attver=38403096);
ALTER TABLE ONLY public.links ALTER COLUMN layer SET (pg_attver=38403096);
ALTER TABLE ONLY public.links ALTER COLUMN source SET (pg_attver=38403096);
ALTER TABLE ONLY public.links ALTER COLUMN relation SET (pg_attver=38403096);
ALTER TABLE ONLY public.links ALTER COLUMN target SET (pg_attver=38403096);
ALTER TABLE ONLY public.links ALTER COLUMN from_rev SET (pg_attver=38403096);
ALTER TABLE ONLY public.links ALTER COLUMN to_rev SET (pg_attver=38403096);
ALTER TABLE ONLY public.links ALTER COLUMN deleted SET (pg_attver=38403096);
ALTER TABLE ONLY public.links ALTER COLUMN confidence SET (pg_attver=38403096);
ALTER TABLE ONLY public.links ALTER COLUMN attributes SET (pg_attver=38403096);
ALTER TABLE ONLY public.links ALTER COLUMN created_at SET (pg_attver=38403096);


ALTER TABLE public.links OWNER TO slipbox_owner;

--
-- Name: model_use; Type: TABLE; Schema: public; Owner: slipbox_owner
--

CREATE TABLE public.model_use (
    tenant uuid NOT NULL,
    day text NOT NULL COLLATE pg_catalog."C",
    collection uuid NOT NULL,
    purpose text NOT NULL,
    calls bigint NOT NULL,
    prompt_tokens bigint NOT NULL,
    completion_tokens bigint NOT NULL
);
ALTER TABLE ONLY public.model_use ALTER COLUMN tenant SET (pg_attver=38534048);
ALTER TABLE ONLY public.model_use ALTER COLUMN day SET (pg_attver=38534048);
ALTER TABLE ONLY public.model_use ALTER COLUMN collection SET (pg_attver=38534048);
ALTER TABLE ONLY public.model_use ALTER COLUMN purpose SET (pg_attver=38534048);
ALTER TABLE ONLY public.model_use ALTER COLUMN calls SET (pg_attver=38534048);
ALTER TABLE ONLY public.model_use ALTER COLUMN prompt_tokens SET (pg_attver=38534048);
ALTER TABLE ONLY public.model_use ALTER COLUMN completion_tokens SET (pg_attver=38534048);


ALTER TABLE public.model_use OWNER TO slipbox_owner;

--
-- Name: notes; Type: TABLE; Schema: public; Owner: slipbox_owner
--

CREATE TABLE public.notes (
    tenant uuid NOT NULL,
    layer uuid NOT NULL,
    id uuid NOT NULL,
    from_rev bigint NOT NULL,
    to_rev bigint NOT NULL,
    deleted boolean NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    importance double precision NOT NULL,
    occurred_at timestamp with time zone,
    created_at timestamp with time zone,
    updated_at timestamp with time zone NOT NULL,
    bytes bigint NOT NULL,
    embedder text NOT NULL,
    category text NOT NULL COLLATE pg_catalog."C",
    context text NOT NULL,
    keywords text[] NOT NULL COLLATE pg_catalog."C",
    tags text[] NOT NULL COLLATE pg_catalog."C",
    attributes jsonb,
    error text NOT NULL,
    analyst text NOT NULL,
    supplied text[] NOT NULL,
    provenance jsonb,
    content text NOT NULL
);
ALTER TABLE ONLY public.notes ALTER COLUMN tenant SET (pg_attver=38367320);
ALTER TABLE ONLY public.notes ALTER COLUMN layer SET (pg_attver=38367320);
ALTER TABLE ONLY public.notes ALTER COLUMN id SET (pg_attver=38367320);
ALTER TABLE ONLY public.notes ALTER COLUMN from_rev SET (pg_attver=38367320);
ALTER TABLE ONLY public.notes ALTER COLUMN to_rev SET (pg_attver=38367320);
ALTER TABLE ONLY public.notes ALTER COLUMN deleted SET (pg_attver=38367320);
ALTER TABLE ONLY public.notes ALTER COLUMN kind SET (pg_attver=38367320);
ALTER TABLE ONLY public.notes ALTER COLUMN state SET (pg_attver=38367320);
ALTER TABLE ONLY public.notes ALTER COLUMN key SET (pg_attver=38367320);
ALTER TABLE ONLY public.notes ALTER COLUMN importance SET (pg_attver=38367320);
ALTER TABLE ONLY public.notes ALTER COLUMN occurred_at SET (pg_attver=38367320);
ALTER TABLE ONLY public.notes ALTER COLUMN created_at SET (pg_attver=38367320);
ALTER TABLE ONLY public.notes ALTER COLUMN updated_at SET (pg_attver=38367320);
ALTER TABLE ONLY public.notes ALTER COLUMN bytes SET (pg_attver=38367320);
ALTER TABLE ONLY public.notes ALTER COLUMN embedder SET (pg_attver=38367320);
ALTER TABLE ONLY public.notes ALTER COLUMN category SET (pg_attver=38367320);
ALTER TABLE ONLY public.notes ALTER COLUMN context SET (pg_attver=38367320);
ALTER TABLE ONLY public.notes ALTER COLUMN keywords SET (pg_attver=38367320);
ALTER TABLE ONLY public.notes ALTER COLUMN tags SET (pg_attver=38367320);
ALTER TABLE ONLY public.notes ALTER COLUMN attributes SET (pg_attver=38367320);
ALTER TABLE ONLY public.notes ALTER COLUMN error SET (pg_attver=38367320);
ALTER TABLE ONLY public.notes ALTER COLUMN analyst SET (pg_attver=38367320);
ALTER TABLE ONLY public.notes ALTER COLUMN supplied SET (pg_attver=38367320);
ALTER TABLE ONLY public.notes ALTER COLUMN provenance SET (pg_attver=38367320);
ALTER TABLE ONLY public.notes ALTER COLUMN content SET (pg_attver=38367320);


ALTER TABLE public.notes OWNER TO slipbox_owner;

--
-- Name: reviews; Type: TABLE; Schema: public; Owner: slipbox_owner
--

CREATE TABLE public.reviews (
    tenant uuid NOT NULL,
    id uuid NOT NULL,
    collection uuid NOT NULL,
    job uuid NOT NULL,
    trigger uuid NOT NULL,
    state text NOT NULL,
    confidence double precision NOT NULL,
    changes json NOT NULL,
    read json NOT NULL,
    revision bigint NOT NULL,
    reason text NOT NULL,
    actor text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    closed_at timestamp with time zone
);
ALTER TABLE ONLY public.reviews ALTER COLUMN tenant SET (pg_attver=38478224);
ALTER TABLE ONLY public.reviews ALTER COLUMN id SET (pg_attver=38478224);
ALTER TABLE ONLY public.reviews ALTER COLUMN collection SET (pg_attver=38478224);
ALTER TABLE ONLY public.reviews ALTER COLUMN job SET (pg_attver=38478224);
ALTER TABLE ONLY public.reviews ALTER COLUMN trigger SET (pg_attver=38478224);
ALTER TABLE ONLY public.reviews ALTER COLUMN state SET (pg_attver=38478224);
ALTER TABLE ONLY public.reviews ALTER COLUMN confidence SET (pg_attver=38478224);
ALTER TABLE ONLY public.reviews ALTER COLUMN changes SET (pg_attver=38478224);
ALTER TABLE ONLY public.reviews ALTER COLUMN read SET (pg_attver=38478224);
ALTER TABLE ONLY public.reviews ALTER COLUMN revision SET (pg_attver=38478224);
ALTER TABLE ONLY public.reviews ALTER COLUMN reason SET (pg_attver=38478224);
ALTER TABLE ONLY public.reviews ALTER COLUMN actor SET (pg_attver=38478224);
ALTER TABLE ONLY public.reviews ALTER COLUMN created_at SET (pg_attver=38478224);
ALTER TABLE ONLY public.reviews ALTER COLUMN closed_at SET (pg_attver=38478224);


ALTER TABLE public.reviews OWNER TO slipbox_owner;

--
-- Name: signing_keys; Type: TABLE; Schema: public; Owner: slipbox_owner
--

CREATE TABLE public.signing_keys (
    kid text NOT NULL COLLATE pg_catalog."C",
    public bytea NOT NULL,
    wrapped bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    retires_at timestamp with time zone,
    expires_at timestamp with time zone
);
ALTER TABLE ONLY public.signing_keys ALTER COLUMN kid SET (pg_attver=38254984);
ALTER TABLE ONLY public.signing_keys ALTER COLUMN public SET (pg_attver=38254984);
ALTER TABLE ONLY public.signing_keys ALTER COLUMN wrapped SET (pg_attver=38254984);
ALTER TABLE ONLY public.signing_keys ALTER COLUMN created_at SET (pg_attver=38254984);
ALTER TABLE ONLY public.signing_keys ALTER COLUMN retires_at SET (pg_attver=38254984);
ALTER TABLE ONLY public.signing_keys ALTER COLUMN expires_at SET (pg_attver=38254984);


ALTER TABLE public.signing_keys OWNER TO slipbox_owner;

--
-- Name: spool; Type: TABLE; Schema: public; Owner: slipbox_owner
--

CREATE TABLE public.spool (
    tenant uuid NOT NULL,
    job uuid NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    part integer NOT NULL,
    at timestamp with time zone NOT NULL,
    data bytea NOT NULL
);
ALTER TABLE ONLY public.spool ALTER COLUMN tenant SET (pg_attver=39058520);
ALTER TABLE ONLY public.spool ALTER COLUMN job SET (pg_attver=39058520);
ALTER TABLE ONLY public.spool ALTER COLUMN name SET (pg_attver=39058520);
ALTER TABLE ONLY public.spool ALTER COLUMN part SET (pg_attver=39058520);
ALTER TABLE ONLY public.spool ALTER COLUMN at SET (pg_attver=39058520);
ALTER TABLE ONLY public.spool ALTER COLUMN data SET (pg_attver=39058520);


ALTER TABLE public.spool OWNER TO slipbox_owner;

--
-- Name: tenants; Type: TABLE; Schema: public; Owner: slipbox_owner
--

CREATE TABLE public.tenants (
    id uuid NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL,
    limits jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.tenants ALTER COLUMN id SET (pg_attver=38239376);
ALTER TABLE ONLY public.tenants ALTER COLUMN name SET (pg_attver=38239376);
ALTER TABLE ONLY public.tenants ALTER COLUMN state SET (pg_attver=38239376);
ALTER TABLE ONLY public.tenants ALTER COLUMN limits SET (pg_attver=38239376);
ALTER TABLE ONLY public.tenants ALTER COLUMN created_at SET (pg_attver=38239376);


ALTER TABLE public.tenants OWNER TO slipbox_owner;

--
-- Name: usage; Type: TABLE; Schema: public; Owner: slipbox_owner
--

CREATE TABLE public.usage (
    tenant uuid NOT NULL,
    layer uuid NOT NULL,
    note uuid NOT NULL,
    access_count bigint NOT NULL,
    last_access timestamp with time zone,
    strength double precision NOT NULL,
    heat double precision NOT NULL
)
WITH (fillfactor='70');
ALTER TABLE ONLY public.usage ALTER COLUMN tenant SET (pg_attver=38440520);
ALTER TABLE ONLY public.usage ALTER COLUMN layer SET (pg_attver=38440520);
ALTER TABLE ONLY public.usage ALTER COLUMN note SET (pg_attver=38440520);
ALTER TABLE ONLY public.usage ALTER COLUMN access_count SET (pg_attver=38440520);
ALTER TABLE ONLY public.usage ALTER COLUMN last_access SET (pg_attver=38440520);
ALTER TABLE ONLY public.usage ALTER COLUMN strength SET (pg_attver=38440520);
ALTER TABLE ONLY public.usage ALTER COLUMN heat SET (pg_attver=38440520);


ALTER TABLE public.usage OWNER TO slipbox_owner;

--
-- Name: vectors; Type: TABLE; Schema: public; Owner: slipbox_owner
--

CREATE TABLE public.vectors (
    tenant uuid NOT NULL,
    layer uuid NOT NULL,
    note uuid NOT NULL,
    from_rev bigint NOT NULL,
    embedder text NOT NULL COLLATE pg_catalog."C",
    vec public.halfvec NOT NULL,
    tokens bytea DEFAULT '\x'::bytea NOT NULL
);
ALTER TABLE ONLY public.vectors ALTER COLUMN tenant SET (pg_attver=38423872);
ALTER TABLE ONLY public.vectors ALTER COLUMN layer SET (pg_attver=38423872);
ALTER TABLE ONLY public.vectors ALTER COLUMN note SET (pg_attver=38423872);
ALTER TABLE ONLY public.vectors ALTER COLUMN from_rev SET (pg_attver=38423872);
ALTER TABLE ONLY public.vectors ALTER COLUMN embedder SET (pg_attver=38423872);
ALTER TABLE ONLY public.vectors ALTER COLUMN vec SET STORAGE PLAIN;
ALTER TABLE ONLY public.vectors ALTER COLUMN vec SET (pg_attver=38423872);
ALTER TABLE ONLY public.vectors ALTER COLUMN tokens SET STORAGE EXTERNAL;
ALTER TABLE ONLY public.vectors ALTER COLUMN tokens SET (pg_attver=39148040);


ALTER TABLE public.vectors OWNER TO slipbox_owner;

--
-- Name: agents agents_pkey; Type: CONSTRAINT; Schema: public; Owner: slipbox_owner
--

ALTER TABLE ONLY public.agents
    ADD CONSTRAINT agents_pkey PRIMARY KEY (tenant, id);


--
-- Name: api_keys api_keys_pkey; Type: CONSTRAINT; Schema: public; Owner: slipbox_owner
--

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (tenant, id);


--
-- Name: audit audit_pkey; Type: CONSTRAINT; Schema: public; Owner: slipbox_owner
--

ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (tenant, id);


--
-- Name: changesets changesets_pkey; Type: CONSTRAINT; Schema: public; Owner: slipbox_owner
--

ALTER TABLE ONLY public.changesets
    ADD CONSTRAINT changesets_pkey PRIMARY KEY (tenant, collection, revision);


--
-- Name: collection_heads collection_heads_pkey; Type: CONSTRAINT; Schema: public; Owner: slipbox_owner
--

ALTER TABLE ONLY public.collection_heads
    ADD CONSTRAINT collection_heads_pkey PRIMARY KEY (tenant, collection);


--
-- Name: collections collections_pkey; Type: CONSTRAINT; Schema: public; Owner: slipbox_owner
--

ALTER TABLE ONLY public.collections
    ADD CONSTRAINT collections_pkey PRIMARY KEY (tenant, id);


--
-- Name: idempotency idempotency_pkey; Type: CONSTRAINT; Schema: public; Owner: slipbox_owner
--

ALTER TABLE ONLY public.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (tenant, agent, method, path, key);


--
-- Name: jobs jobs_pkey; Type: CONSTRAINT; Schema: public; Owner: slipbox_owner
--

ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (tenant, id);


--
-- Name: links links_pkey; Type: CONSTRAINT; Schema: public; Owner: slipbox_owner
--

ALTER TABLE ONLY public.links
    ADD CONSTRAINT links_pkey PRIMARY KEY (tenant, layer, source, relation, target, from_rev);


--
-- Name: model_use model_use_pkey; Type: CONSTRAINT; Schema: public; Owner: slipbox_owner
--

ALTER TABLE ONLY public.model_use
    ADD CONSTRAINT model_use_pkey PRIMARY KEY (tenant, day, collection, purpose);


--
-- Name: notes notes_pkey; Type: CONSTRAINT; Schema: public; Owner: slipbox_owner
--

ALTER TABLE ONLY public.notes
    ADD CONSTRAINT notes_pkey PRIMARY KEY (tenant, layer, id, from_rev);


--
-- Name: reviews reviews_pkey; Type: CONSTRAINT; Schema: public; Owner: slipbox_owner
--

ALTER TABLE ONLY public.reviews
    ADD CONSTRAINT reviews_pkey PRIMARY KEY (tenant, id);


--
-- Name: signing_keys signing_keys_pkey; Type: CONSTRAINT; Schema: public; Owner: slipbox_owner
--

ALTER TABLE ONLY public.signing_keys
    ADD CONSTRAINT signing_keys_pkey PRIMARY KEY (kid);


--
-- Name: spool spool_pkey; Type: CONSTRAINT; Schema: public; Owner: slipbox_owner
--

ALTER TABLE ONLY public.spool
    ADD CONSTRAINT spool_pkey PRIMARY KEY (tenant, job, name, part);


--
-- Name: tenants tenants_pkey; Type: CONSTRAINT; Schema: public; Owner: slipbox_owner
--

ALTER TABLE ONLY public.tenants
    ADD CONSTRAINT tenants_pkey PRIMARY KEY (id);


--
-- Name: usage usage_pkey; Type: CONSTRAINT; Schema: public; Owner: slipbox_owner
--

ALTER TABLE ONLY public.usage
    ADD CONSTRAINT usage_pkey PRIMARY KEY (tenant, layer, note);


--
-- Name: vectors vectors_pkey; Type: CONSTRAINT; Schema: public; Owner: slipbox_owner
--

ALTER TABLE ONLY public.vectors
    ADD CONSTRAINT vectors_pkey PRIMARY KEY (tenant, layer, note, from_rev, embedder);


--
-- Name: agents_name; Type: INDEX; Schema: public; Owner: slipbox_owner
--

CREATE UNIQUE INDEX agents_name ON public.agents USING btree (tenant, name);


--
-- Name: collections_ephemeral; Type: INDEX; Schema: public; Owner: slipbox_owner
--

CREATE INDEX collections_ephemeral ON public.collections USING btree (tenant, id) WHERE (ephemeral AND (state <> 'deleting'::text));


--
-- Name: collections_expiry; Type: INDEX; Schema: public; Owner: slipbox_owner
--

CREATE INDEX collections_expiry ON public.collections USING btree (expires_at) WHERE ((expires_at IS NOT NULL) AND (state <> 'deleting'::text));


--
-- Name: collections_name; Type: INDEX; Schema: public; Owner: slipbox_owner
--

CREATE UNIQUE INDEX collections_name ON public.collections USING btree (tenant, name, agent) WHERE (state <> 'deleting'::text);


--
-- Name: collections_parent; Type: INDEX; Schema: public; Owner: slipbox_owner
--

CREATE INDEX collections_parent ON public.collections USING btree (tenant, parent) WHERE (parent <> '00000000-0000-0000-0000-000000000000'::uuid);


--
-- Name: idempotency_at; Type: INDEX; Schema: public; Owner: slipbox_owner
--

CREATE INDEX idempotency_at ON public.idempotency USING btree (tenant, at);


--
-- Name: jobs_collection; Type: INDEX; Schema: public; Owner: slipbox_owner
--

CREATE INDEX jobs_collection ON public.jobs USING btree (tenant, collection, id);


--
-- Name: jobs_lease_until; Type: INDEX; Schema: public; Owner: slipbox_owner
--

CREATE INDEX jobs_lease_until ON public.jobs USING btree (lease_until NULLS FIRST) WHERE (state = 'running'::text);


--
-- Name: jobs_not_before; Type: INDEX; Schema: public; Owner: slipbox_owner
--

CREATE INDEX jobs_not_before ON public.jobs USING btree (not_before NULLS FIRST) INCLUDE (stage, created_at) WHERE (state = 'queued'::text);


--
-- Name: jobs_note; Type: INDEX; Schema: public; Owner: slipbox_owner
--

CREATE INDEX jobs_note ON public.jobs USING btree (tenant, note) WHERE (note <> '00000000-0000-0000-0000-000000000000'::uuid);


--
-- Name: jobs_running; Type: INDEX; Schema: public; Owner: slipbox_owner
--

CREATE INDEX jobs_running ON public.jobs USING btree (tenant, collection, stage) WHERE (state = 'running'::text);


--
-- Name: jobs_waiting; Type: INDEX; Schema: public; Owner: slipbox_owner
--

CREATE INDEX jobs_waiting ON public.jobs USING btree (tenant, collection, stage, seq) WHERE (state = ANY (ARRAY['queued'::text, 'running'::text]));


--
-- Name: links_target; Type: INDEX; Schema: public; Owner: slipbox_owner
--

CREATE INDEX links_target ON public.links USING btree (tenant, layer, target);


--
-- Name: notes_began; Type: INDEX; Schema: public; Owner: slipbox_owner
--

CREATE INDEX notes_began ON public.notes USING btree (tenant, layer, from_rev, id);


--
-- Name: notes_ended; Type: INDEX; Schema: public; Owner: slipbox_owner
--

CREATE INDEX notes_ended ON public.notes USING btree (tenant, layer, to_rev) WHERE (to_rev < '9223372036854775807'::bigint);


--
-- Name: notes_key; Type: INDEX; Schema: public; Owner: slipbox_owner
--

CREATE INDEX notes_key ON public.notes USING btree (tenant, layer, kind, key) WHERE (key <> ''::text);


--
-- Name: notes_note; Type: INDEX; Schema: public; Owner: slipbox_owner
--

CREATE INDEX notes_note ON public.notes USING hash (id);


--
-- Name: notes_said; Type: INDEX; Schema: public; Owner: slipbox_owner
--

CREATE INDEX notes_said ON public.notes USING btree (tenant, layer, occurred_at, id) WHERE (kind = 'message'::text);


--
-- Name: notes_waiting; Type: INDEX; Schema: public; Owner: slipbox_owner
--

CREATE INDEX notes_waiting ON public.notes USING btree (tenant, layer, to_rev) WHERE ((state = ANY (ARRAY['raw'::text, 'pending'::text])) AND (NOT deleted));


--
-- Name: reviews_collection; Type: INDEX; Schema: public; Owner: slipbox_owner
--

CREATE INDEX reviews_collection ON public.reviews USING btree (tenant, collection, state);


--
-- Name: spool_at; Type: INDEX; Schema: public; Owner: slipbox_owner
--

CREATE INDEX spool_at ON public.spool USING btree (tenant, at);


--
-- Name: tenants_name; Type: INDEX; Schema: public; Owner: slipbox_owner
--

CREATE UNIQUE INDEX tenants_name ON public.tenants USING btree (name) WHERE (state <> 'deleting'::text);


--
-- Name: agents; Type: ROW SECURITY; Schema: public; Owner: slipbox_owner
--

ALTER TABLE public.agents ENABLE ROW LEVEL SECURITY;

--
-- Name: api_keys; Type: ROW SECURITY; Schema: public; Owner: slipbox_owner
--

ALTER TABLE public.api_keys ENABLE ROW LEVEL SECURITY;

--
-- Name: audit; Type: ROW SECURITY; Schema: public; Owner: slipbox_owner
--

ALTER TABLE public.audit ENABLE ROW LEVEL SECURITY;

--
-- Name: changesets; Type: ROW SECURITY; Schema: public; Owner: slipbox_owner
--

ALTER TABLE public.changesets ENABLE ROW LEVEL SECURITY;

--
-- Name: collection_heads; Type: ROW SECURITY; Schema: public; Owner: slipbox_owner
--

ALTER TABLE public.collection_heads ENABLE ROW LEVEL SECURITY;

--
-- Name: collections; Type: ROW SECURITY; Schema: public; Owner: slipbox_owner
--

ALTER TABLE public.collections ENABLE ROW LEVEL SECURITY;

--
-- Name: idempotency; Type: ROW SECURITY; Schema: public; Owner: slipbox_owner
--

ALTER TABLE public.idempotency ENABLE ROW LEVEL SECURITY;

--
-- Name: jobs; Type: ROW SECURITY; Schema: public; Owner: slipbox_owner
--

ALTER TABLE public.jobs ENABLE ROW LEVEL SECURITY;

--
-- Name: links; Type: ROW SECURITY; Schema: public; Owner: slipbox_owner
--

ALTER TABLE public.links ENABLE ROW LEVEL SECURITY;

--
-- Name: model_use; Type: ROW SECURITY; Schema: public; Owner: slipbox_owner
--

ALTER TABLE public.model_use ENABLE ROW LEVEL SECURITY;

--
-- Name: notes; Type: ROW SECURITY; Schema: public; Owner: slipbox_owner
--

ALTER TABLE public.notes ENABLE ROW LEVEL SECURITY;

--
-- Name: agents own_tenant; Type: POLICY; Schema: public; Owner: slipbox_owner
--

CREATE POLICY own_tenant ON public.agents USING ((tenant = (NULLIF(current_setting('slipbox.tenant'::text, true), ''::text))::uuid));


--
-- Name: api_keys own_tenant; Type: POLICY; Schema: public; Owner: slipbox_owner
--

CREATE POLICY own_tenant ON public.api_keys USING ((tenant = (NULLIF(current_setting('slipbox.tenant'::text, true), ''::text))::uuid));


--
-- Name: audit own_tenant; Type: POLICY; Schema: public; Owner: slipbox_owner
--

CREATE POLICY own_tenant ON public.audit USING ((tenant = (NULLIF(current_setting('slipbox.tenant'::text, true), ''::text))::uuid));


--
-- Name: changesets own_tenant; Type: POLICY; Schema: public; Owner: slipbox_owner
--

CREATE POLICY own_tenant ON public.changesets USING ((tenant = (NULLIF(current_setting('slipbox.tenant'::text, true), ''::text))::uuid));


--
-- Name: collection_heads own_tenant; Type: POLICY; Schema: public; Owner: slipbox_owner
--

CREATE POLICY own_tenant ON public.collection_heads USING ((tenant = (NULLIF(current_setting('slipbox.tenant'::text, true), ''::text))::uuid));


--
-- Name: collections own_tenant; Type: POLICY; Schema: public; Owner: slipbox_owner
--

CREATE POLICY own_tenant ON public.collections USING ((tenant = (NULLIF(current_setting('slipbox.tenant'::text, true), ''::text))::uuid));


--
-- Name: idempotency own_tenant; Type: POLICY; Schema: public; Owner: slipbox_owner
--

CREATE POLICY own_tenant ON public.idempotency USING ((tenant = (NULLIF(current_setting('slipbox.tenant'::text, true), ''::text))::uuid));


--
-- Name: jobs own_tenant; Type: POLICY; Schema: public; Owner: slipbox_owner
--

CREATE POLICY own_tenant ON public.jobs USING ((tenant = (NULLIF(current_setting('slipbox.tenant'::text, true), ''::text))::uuid));


--
-- Name: links own_tenant; Type: POLICY; Schema: public; Owner: slipbox_owner
--

CREATE POLICY own_tenant ON public.links USING ((tenant = (NULLIF(current_setting('slipbox.tenant'::text, true), ''::text))::uuid));


--
-- Name: model_use own_tenant; Type: POLICY; Schema: public; Owner: slipbox_owner
--

CREATE POLICY own_tenant ON public.model_use USING ((tenant = (NULLIF(current_setting('slipbox.tenant'::text, true), ''::text))::uuid));


--
-- Name: notes own_tenant; Type: POLICY; Schema: public; Owner: slipbox_owner
--

CREATE POLICY own_tenant ON public.notes USING ((tenant = (NULLIF(current_setting('slipbox.tenant'::text, true), ''::text))::uuid));


--
-- Name: reviews own_tenant; Type: POLICY; Schema: public; Owner: slipbox_owner
--

CREATE POLICY own_tenant ON public.reviews USING ((tenant = (NULLIF(current_setting('slipbox.tenant'::text, true), ''::text))::uuid));


--
-- Name: spool own_tenant; Type: POLICY; Schema: public; Owner: slipbox_owner
--

CREATE POLICY own_tenant ON public.spool USING ((tenant = (NULLIF(current_setting('slipbox.tenant'::text, true), ''::text))::uuid));


--
-- Name: usage own_tenant; Type: POLICY; Schema: public; Owner: slipbox_owner
--

CREATE POLICY own_tenant ON public.usage USING ((tenant = (NULLIF(current_setting('slipbox.tenant'::text, true), ''::text))::uuid));


--
-- Name: vectors own_tenant; Type: POLICY; Schema: public; Owner: slipbox_owner
--

CREATE POLICY own_tenant ON public.vectors USING ((tenant = (NULLIF(current_setting('slipbox.tenant'::text, true), ''::text))::uuid));


--
-- Name: reviews; Type: ROW SECURITY; Schema: public; Owner: slipbox_owner
--

ALTER TABLE public.reviews ENABLE ROW LEVEL SECURITY;

--
-- Name: spool; Type: ROW SECURITY; Schema: public; Owner: slipbox_owner
--

ALTER TABLE public.spool ENABLE ROW LEVEL SECURITY;

--
-- Name: usage; Type: ROW SECURITY; Schema: public; Owner: slipbox_owner
--

ALTER TABLE public.usage ENABLE ROW LEVEL SECURITY;

--
-- Name: vectors; Type: ROW SECURITY; Schema: public; Owner: slipbox_owner
--

ALTER TABLE public.vectors ENABLE ROW LEVEL SECURITY;

--
-- Name: FUNCTION backlog(of text, OUT waiting bigint, OUT oldest timestamp with time zone); Type: ACL; Schema: public; Owner: slipbox_owner
--

REVOKE ALL ON FUNCTION public.backlog(of text, OUT waiting bigint, OUT oldest timestamp with time zone) FROM PUBLIC;


--
-- Name: FUNCTION due_collections(at timestamp with time zone, most integer); Type: ACL; Schema: public; Owner: slipbox_owner
--

REVOKE ALL ON FUNCTION public.due_collections(at timestamp with time zone, most integer) FROM PUBLIC;


--
-- Name: FUNCTION ephemeral_collections(most integer); Type: ACL; Schema: public; Owner: slipbox_owner
--

REVOKE ALL ON FUNCTION public.ephemeral_collections(most integer) FROM PUBLIC;


--
-- Name: FUNCTION expired_collections(at timestamp with time zone, most integer); Type: ACL; Schema: public; Owner: slipbox_owner
--

REVOKE ALL ON FUNCTION public.expired_collections(at timestamp with time zone, most integer) FROM PUBLIC;


--
-- Name: FUNCTION next_due(); Type: ACL; Schema: public; Owner: slipbox_owner
--

REVOKE ALL ON FUNCTION public.next_due() FROM PUBLIC;


--
-- Name: FUNCTION stale_parts(before timestamp with time zone, most integer); Type: ACL; Schema: public; Owner: slipbox_owner
--

REVOKE ALL ON FUNCTION public.stale_parts(before timestamp with time zone, most integer) FROM PUBLIC;


--
-- PostgreSQL database dump complete
--

\unrestrict x

