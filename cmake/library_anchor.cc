// Keeps a library target valid while none of its modules has a source.
namespace thaw {}
