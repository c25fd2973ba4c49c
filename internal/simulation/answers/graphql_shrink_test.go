package answers

// Simplify removes parts of a query as long as its response differs from the expected one.
func (r *Request) Simplify(differs func(*Request) bool) *Request {
	for tries, smaller := 0, true; smaller; {
		smaller = false
		for _, roots := range simplerSelections(r.Roots) {
			c := *r
			c.Roots = roots
			if tries++; tries > 400 {
				return r
			}
			if len(roots) > 0 && differs(&c) {
				r, smaller = &c, true
				break
			}
		}
	}
	return r
}

// simplerSelections returns all variants of a list of selections that lack one part.
func simplerSelections(list []*Selection) [][]*Selection {
	var all [][]*Selection
	for i := range list {
		if len(list) > 1 {
			all = append(all, dropped(list, i))
		}
	}
	for i, s := range list {
		for _, x := range s.simpler() {
			c := append([]*Selection(nil), list...)
			c[i] = x
			all = append(all, c)
		}
		if s.Fragment == "bare" {
			c := append(append([]*Selection(nil), list[:i]...), s.Of...)
			all = append(all, append(c, list[i+1:]...))
		}
	}
	return all
}

func (s *Selection) simpler() []*Selection {
	var all []*Selection
	add := func(change func(*Selection)) {
		c := *s
		change(&c)
		all = append(all, &c)
	}
	if s.Directives != nil {
		add(func(c *Selection) { c.Directives = nil })
	}
	if len(s.Of) > 0 {
		for _, of := range simplerSelections(s.Of) {
			add(func(c *Selection) { c.Of = of })
		}
	}
	if s.Args == nil {
		return all
	}
	with := func(change func(*Args)) {
		add(func(c *Selection) {
			args := *c.Args
			change(&args)
			c.Args = &args
		})
	}
	a := s.Args
	if a.Write != nil {
		for i := range a.Write.Data {
			with(func(a *Args) {
				less := *a.Write
				less.Data = dropped(less.Data, i)
				a.Write = &less
			})
		}
	}
	if a.Variable != nil || a.Null != nil || a.Omitted != nil {
		with(func(a *Args) { a.Variable, a.Null, a.Omitted = nil, nil, nil })
	}
	if a.Paging != nil {
		with(func(a *Args) { a.Paging = nil })
	}
	if a.Publication != "" || a.HasVersion != "" {
		with(func(a *Args) { a.Publication, a.HasVersion = "", "" })
	}
	for i := range a.Sort {
		with(func(a *Args) { a.Sort = dropped(a.Sort, i) })
	}
	if a.Filter != nil {
		with(func(a *Args) { a.Filter = nil })
		for _, f := range a.Filter.simpler() {
			with(func(a *Args) { a.Filter = f })
		}
	}
	return all
}

// size counts the selections and writes of a request.
func (r *Request) size() int { return sizeOf(r.Roots) }

func sizeOf(list []*Selection) int {
	n := len(list)
	for _, s := range list {
		n += sizeOf(s.Of)
		if s.Args != nil && s.Args.Write != nil {
			n += len(s.Args.Write.Data)
		}
	}
	return n
}
