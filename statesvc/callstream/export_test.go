package callstream

// Waiting is how many replies of all streams wait for one that is being written.
func (s *Server) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for st := range s.streams {
		n += int(st.waiting.Load())
	}
	return n
}
