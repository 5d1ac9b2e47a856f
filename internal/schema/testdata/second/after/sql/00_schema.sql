create schema if not exists paidonce;
