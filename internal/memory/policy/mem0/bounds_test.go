package mem0
