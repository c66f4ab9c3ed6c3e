# cmake --install: the command, libthaw.so with its headers, and a package file for find_package(thaw).

include(CMakePackageConfigHelpers)

set(thaw_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/thaw")

install(TARGETS thaw_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(TARGETS thaw_worker RUNTIME DESTINATION "${CMAKE_INSTALL_LIBDIR}/thaw")
install(TARGETS thaw_shared EXPORT thawTargets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT thawTargets NAMESPACE thaw:: DESTINATION "${thaw_package_dir}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/thaw" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(FILES "${PROJECT_BINARY_DIR}/generated/thaw/version.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/thaw")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# The man page and the completions, as the command itself prints them: kind, file, and folder below share/.
set(thaw_shell_files
    "man|thaw.1|man/man1" "bash|thaw|bash-completion/completions" "zsh|_thaw|zsh/site-functions" "fish|thaw.fish|fish/vendor_completions.d")
set(thaw_shell_dir "${PROJECT_BINARY_DIR}/shell")
set(thaw_shell_outputs "")
foreach(row IN LISTS thaw_shell_files)
  string(REPLACE "|" ";" row "${row}")
  list(GET row 0 kind)
  list(GET row 1 file)
  list(GET row 2 folder)
  file(MAKE_DIRECTORY "${thaw_shell_dir}/${folder}")
  add_custom_command(
    OUTPUT "${thaw_shell_dir}/${folder}/${file}"
    COMMAND thaw_cli completion ${kind} > "${thaw_shell_dir}/${folder}/${file}"
    DEPENDS thaw_cli
    COMMENT "Writing ${file} (${kind})"
    VERBATIM)
  list(APPEND thaw_shell_outputs "${thaw_shell_dir}/${folder}/${file}")
endforeach()
add_custom_target(thaw_shell ALL DEPENDS ${thaw_shell_outputs})
install(DIRECTORY "${thaw_shell_dir}/" DESTINATION "${CMAKE_INSTALL_DATADIR}")

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/thawConfig.cmake.in" "${PROJECT_BINARY_DIR}/thawConfig.cmake"
                              INSTALL_DESTINATION "${thaw_package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/thawConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/thawConfig.cmake" "${PROJECT_BINARY_DIR}/thawConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/Findutf8proc.cmake"
        DESTINATION "${thaw_package_dir}")

# The libraries that tools/setup fetched go along; a user's own copies stay where they are.
if(THAW_INSTALL_DEPENDENCIES)
  file(REAL_PATH "${ONNXRUNTIME_LIBRARY}" thaw_onnxruntime_file)
  if(thaw_onnxruntime_file MATCHES "^${THAW_DEPS_REAL_DIR}/onnxruntime/")
    install(FILES "${thaw_onnxruntime_file}" DESTINATION "${CMAKE_INSTALL_LIBDIR}" RENAME libonnxruntime.so.1)
  endif()
  if(ONNXRUNTIME_GENAI_LIBRARY MATCHES "^${THAW_DEPS_REAL_DIR}/onnxruntime-genai/")
    install(FILES "${ONNXRUNTIME_GENAI_LIBRARY}" DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  endif()
endif()
