"""A data set as a job of many attempts: cut into shards, shared by processes, resumed after any interruption."""
