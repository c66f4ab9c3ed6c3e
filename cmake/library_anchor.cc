// Keeps a library target valid while none of its rooms has a source.
namespace thaw {}
