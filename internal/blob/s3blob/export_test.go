package s3blob

// SetPartSize makes content that is sent in parts affordable for a test.
func (s *Store) SetPartSize(size int64) { s.partSize = size }
