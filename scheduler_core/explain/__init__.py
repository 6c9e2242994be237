"""Why a pod does not fit: answers for people, which no decision waits for."""
