-- The two roles and their database, made once, when the server's data directory is: the
-- owner migrates, the other one serves and is held by row-level security.
-- Run by a superuser with psql; the passwords come from the environment.
\set ON_ERROR_STOP on
\getenv owner_password SLIPBOX_OWNER_PASSWORD
\getenv app_password SLIPBOX_APP_PASSWORD

CREATE ROLE slipbox_owner LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD :'owner_password';
CREATE ROLE slipbox_app LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD :'app_password';
CREATE DATABASE slipbox OWNER slipbox_owner;

\connect slipbox
-- Only a superuser may, so migrations find it here.
CREATE EXTENSION vector;
