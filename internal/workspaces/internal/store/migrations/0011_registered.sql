-- Whether a document is the index of a workspace that lets others find it.
ALTER TABLE ws_documents ADD COLUMN registered BIGINT NOT NULL DEFAULT 0;
CREATE INDEX ws_documents_registered ON ws_documents (workspace_id) WHERE registered = 1;
UPDATE ws_documents SET registered = 1 WHERE path = 'index' AND EXISTS (SELECT 1 FROM ws_texts t WHERE t.owner = ws_documents.workspace_id
	AND t.hash = ws_documents.hash AND t.body LIKE '%registerWorkspace: true%');
