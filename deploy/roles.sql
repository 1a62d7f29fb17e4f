-- The two roles and their database. The owner migrates; the other role serves, under
-- row-level security. A superuser runs this file with psql, once, when the data directory
-- of the server is created. The passwords are read from the environment.
\set ON_ERROR_STOP on
\getenv owner_password SLIPBOX_OWNER_PASSWORD
\getenv app_password SLIPBOX_APP_PASSWORD

CREATE ROLE slipbox_owner LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD :'owner_password';
CREATE ROLE slipbox_app LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD :'app_password';
CREATE DATABASE slipbox OWNER slipbox_owner;

\connect slipbox
-- Only a superuser may create the extension, so migrations cannot.
CREATE EXTENSION vector;
